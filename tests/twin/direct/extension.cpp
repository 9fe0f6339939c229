#include <torch/extension.h>

#include "acl/acl.h"
#include "aclrtlaunch_probe_muls.h"
#include "tiling/platform/platform_ascendc.h"
#include "torch_npu/csrc/core/npu/NPUStream.h"

at::Tensor run_muls(const at::Tensor& x, double factor)
{
    TORCH_CHECK(x.dim() == 1, "one axis, not ", x.dim());
    at::Tensor y = at::empty_like(x);
    auto* platform = platform_ascendc::PlatformAscendCManager::GetInstance();
    auto sizes = at::empty({2}, at::kInt);
    sizes.data_ptr<int32_t>()[0] = static_cast<int32_t>(x.numel());
    sizes.data_ptr<int32_t>()[1] = static_cast<int32_t>(platform->GetCoreNumAiv());
    auto tiling = sizes.to(x.device());
    auto stream = c10_npu::getCurrentNPUStream().stream(false);
    ACLRT_LAUNCH_KERNEL(probe_muls)(1, stream, x.data_ptr(), y.storage().data(), tiling.data_ptr(), factor);
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { (void)m; }
