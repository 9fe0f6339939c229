"""A stand-in of the toolkit and of a device, as strange as the documentation says the real ones are.

For tests of code that drives CANN, on machines that have none: real CMake, real shared libraries, real processes; the
"device" computes on the host, and nothing that it says is a measurement. Every name that it reports says *stand-in*.
:func:`install` makes a root folder with toolkit, driver and device nodes; :class:`Machine` answers for ``npu-smi``.
The fixture ``npukb_standin`` of :mod:`npukernelbench.testing.fixtures` does both.

What it does that a friendlier one would not, and where that is documented (hiascend.com unless said otherwise):

========================  =============================================================================================
operator packages         found by ``ASCEND_CUSTOM_OPP_PATH``, whose entries name ``…/vendors/NAME`` (envref_07_0147),
                          then below the toolkit in the order of ``vendors/config.ini``; only for chips that the
                          definition names; else 561003. The first one that has the operator is launched
installers                ask about every part that is there, refuse libraries of other machines and places that may
                          not be written, write ``set_env.bash`` or ``config.ini`` (atlasopdev_10_0091,
                          atlas_ascendc_10_0069 and 10_00004, cann/asc-devkit guide of building and installing). They
                          compare no versions: no page says that they do
definitions               compiled while CMake configures, ``-std=c++11`` after every other option; errors are the text
                          of ``message(FATAL_ERROR)``, indented and wrapped by CMake (public func.cmake of operators)
interfaces                an output with the name of an input is that input, called ``…Ref`` (torchair_00066, public
                          ``aclnnInplace…`` headers' documentation); a single output ``out``, what may be left out
                          ``…Optional`` (cann/asc-devkit docs: calls of the single-operator API)
toolkit's Python          imports decorator, attrs and psutil (softwareinst instg_0045) and makes locks in ``/dev/shm``
device numbers            an index after ``ASCEND_RT_VISIBLE_DEVICES``, not the number of a node (envref_07_0028)
chips                     A2 has a Chip Name, A3 ``Ascend910`` and an NPU Name (GetSocVersion, atlasascendc_api_07_1029)
faults                    a code poisons its process (507014, 507015, 507034, …) and not the next one (public logs:
                          github hw-native-sys/simpler 1005 and 1016, hw-native-sys/PTOAS 862, Ascend/pytorch 66); a
                          kernel that does not end is stopped only by ``aclrtSetOpExecuteTimeOutV2``
                          (aclcppdevg_03_1986), else it stays on the device and the host's wait ends with 507046
                          (simpler 718)
memory                    one budget for all that a process holds (``ASCEND_STANDIN_HBM``), 207001 past it
                          (cann/runtime 11-01 and 25-01)
time                      a virtual clock: a call costs the host time before the device gets its task, blocking calls
                          leave the device idle (cann/runtime 07 and 11-03); first launches are slow, which is what
                          ``--warm-up`` is for (msopprof user guide)
msprof op                 takes the first kernel unless ``--kernel-name`` names another, counts the slow first launch
                          without ``--warm-up``, writes nothing for a program that does not end in order; columns in
                          another order per version (msopprof user guide, atlasopdev_16_0098)
toolkits                  of CANN 9.1 and, without the CMake package ASC, of CANN 8.2: ``ascendc.cmake`` wants
                          SOC_VERSION and its like first, takes ``.cpp`` only (atlas_ascendc_10_0056, CMake files of
                          cann/runtime's examples); ``msopgen`` writes a project whose presets name another toolkit
                          (atlasopdev_16_0018, 0024) and whose build script builds where it is started
========================  =============================================================================================

``ASCEND_STANDIN_*`` in the environment and ``standin_*`` in kernels change it: docs/plugins.md lists them.
"""

from npukernelbench.testing.standin.machine import Chip, Machine
from npukernelbench.testing.standin.toolkit import PACKAGES, Toolkit, install

__all__ = ["PACKAGES", "Chip", "Machine", "Toolkit", "install"]
