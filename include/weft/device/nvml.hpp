// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What NVIDIA's driver tells about a GPU, where there is one.
#pragma once

#include <dlfcn.h>

#include <optional>
#include <string>

namespace weft {

//! How busy a GPU is, and how much of its memory is taken, by whomever.
struct GpuUsage {
  double busy = 0.0;   //!< the share of the last moments in which a kernel ran
  double bytes = 0.0;  //!< of memory

  friend bool operator==(const GpuUsage&, const GpuUsage&) = default;
};

//! The driver's management library, looked for when the program runs: weft is neither compiled nor
//! linked with it.
//!
//! **Source.** NVML API reference, NVIDIA.
class Nvml {
 public:
  //! The library of this process; it stays loaded.
  static const Nvml& library() {
    static const Nvml nvml;
    return nvml;
  }

  //! Of the GPU with this PCI bus id; nothing where the driver does not tell.
  [[nodiscard]] std::optional<GpuUsage> usage(const std::string& pci_bus_id) const {
    Device device = nullptr;
    Utilization utilization{};
    MemoryInfo memory{};
    if (!loaded_ || handle_of_(pci_bus_id.c_str(), &device) != success ||
        utilization_of_(device, &utilization) != success ||
        memory_of_(device, &memory) != success) {
      return std::nullopt;
    }
    return GpuUsage{utilization.gpu / 100.0, static_cast<double>(memory.used)};
  }

 private:
  using Device = void*;
  struct Utilization {
    unsigned gpu, memory;  // percent
  };
  struct MemoryInfo {
    unsigned long long total, free, used;
  };
  static constexpr int success = 0;

  Nvml() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return;
    int (*start)() = nullptr;
    loaded_ = find(library, "nvmlInit_v2", start) &&
              find(library, "nvmlDeviceGetHandleByPciBusId_v2", handle_of_) &&
              find(library, "nvmlDeviceGetUtilizationRates", utilization_of_) &&
              find(library, "nvmlDeviceGetMemoryInfo", memory_of_) && start() == success;
  }

  template <class Function>
  static bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }

  bool loaded_ = false;
  int (*handle_of_)(const char*, Device*) = nullptr;
  int (*utilization_of_)(Device, Utilization*) = nullptr;
  int (*memory_of_)(Device, MemoryInfo*) = nullptr;
};

}  // namespace weft
