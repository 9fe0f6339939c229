"""A stand-in of the toolkit and of a device, as strange as the documentation says the real ones are.

For tests of code that drives CANN, on machines that have none: real CMake, real shared libraries, real processes; the
"device" computes on the host, and nothing that it says is a measurement. Every name that it reports says *stand-in*.
:func:`install` makes a root folder with toolkit, driver and device nodes; :class:`Machine` answers for ``npu-smi``.
The fixture ``npukb_standin`` of :mod:`npukernelbench.testing.fixtures` does both.

What it does that a friendlier one would not, and where that is documented (hiascend.com unless said otherwise):

========================  =============================================================================================
operator packages         found by ``ASCEND_CUSTOM_OPP_PATH``, whose entries name ``…/vendors/NAME`` (envref_07_0147),
                          then below the toolkit; only for chips that the definition names; else 561003
definitions               compiled while CMake configures, ``-std=c++11`` after every other option; errors are the text
                          of ``message(FATAL_ERROR)``, indented and wrapped by CMake (public func.cmake of operators)
interfaces                an output with the name of an input is that input, called ``…Ref``; a single output ``out``
toolkit's Python          imports decorator, attrs and psutil (softwareinst instg_0045) and makes locks in ``/dev/shm``
device numbers            an index after ``ASCEND_RT_VISIBLE_DEVICES``, not the number of a node (envref_07_0028)
chips                     A2 has a Chip Name, A3 ``Ascend910`` and an NPU Name (GetSocVersion, atlasascendc_api_07_1029)
faults                    a code poisons its process (507014, 507015, 507034, …); a kernel that does not end is stopped
                          only by ``aclrtSetOpExecuteTimeOutV2`` (aclcppdevg_03_1986), else it stays on the device
memory                    one budget for all that a process holds (``ASCEND_STANDIN_HBM``), 207001 past it
time                      a virtual clock: a call costs the host time before the device gets its task; first launches
                          are slow; blocking calls leave the device idle
msprof op                 takes the first kernel unless ``--kernel-name`` names another, counts the slow first launch
                          without ``--warm-up``, writes nothing for a program that does not end in order; columns in
                          another order per version (msopprof user guide, atlasopdev_16_0098)
========================  =============================================================================================

``ASCEND_STANDIN_*`` in the environment changes it: ``HBM``, ``SOC``, ``STATUS``, ``INIT`` (a code), ``KERNEL_US``,
``DISPATCH_US``, ``FLUSH_US``, ``HEALS_AFTER``, ``NODES=0``, ``EMPTY``, ``MSPROF`` (``8.0``, ``9.1``), ``TORCH=broken``.
Kernels may call ``standin_raise(code)``, ``standin_hang()`` and ``standin_spend(us)``.
"""

from npukernelbench.testing.standin.machine import Chip, Machine
from npukernelbench.testing.standin.toolkit import PACKAGES, install

__all__ = ["PACKAGES", "Chip", "Machine", "install"]
