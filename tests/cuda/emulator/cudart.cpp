// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file As much of CUDA's runtime as weft's programs call, for the emulator: linked in place of
//! libcudart.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode.hpp"
#include "fault.hpp"
#include "graphs.hpp"
#include "launch.hpp"
#include "memory.hpp"
#include "queue.hpp"
#include "streams.hpp"

namespace {

std::atomic<std::size_t> segments{0};  // that somebody has

thread_local int current_gpu = 0;
thread_local bool is_recording = false;

//! What the last call that failed in this thread said, for `cudaGetLastError`.
thread_local cudaError_t last_error = cudaSuccess;

cudaError_t said(cudaError_t status) {
  if (status != cudaSuccess) last_error = status;
  return status;
}

//! What a call says that has done its work: after a fault all fail.
cudaError_t done() { return said(emulator::has_faulted() ? cudaErrorLaunchFailure : cudaSuccess); }

constexpr std::size_t shared_unasked = 48 * 1024;

//! A Hopper's 227 KiB, or `EMULATED_SHARED_KIB`.
std::size_t shared_at_most() {
  static const char* const wanted = std::getenv("EMULATED_SHARED_KIB");
  static const std::size_t kib = wanted == nullptr ? 227 : std::strtoul(wanted, nullptr, 10);
  return kib * 1024;
}

//! A function of the host that stands for a kernel.
struct Entry {
  std::vector<std::shared_ptr<emulator::Module>>* modules;
  std::string name;
  const emulator::Kernel* kernel = nullptr;
  std::map<int, std::size_t> shared_allowed;  // by GPU
};

std::map<const void*, Entry>& entries() {
  static std::map<const void*, Entry> all;
  return all;
}
std::recursive_mutex& entries_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

Entry* entry_of(const void* function) {
  const std::lock_guard lock(entries_mutex());
  const auto found = entries().find(function);
  if (found == entries().end()) return nullptr;
  Entry& entry = found->second;
  if (entry.kernel == nullptr) {
    for (const auto& module : *entry.modules) {
      if (entry.kernel = module->kernel(entry.name); entry.kernel != nullptr) break;
    }
    if (entry.kernel == nullptr)
      emulator::unknown("kernel " + entry.name + ": its PTX is compressed, or not there");
  }
  return &entry;
}

std::size_t& shared_allowed(Entry& entry) {
  const std::lock_guard lock(entries_mutex());
  return entry.shared_allowed.insert({current_gpu, shared_unasked}).first->second;
}

emulator::Triple triple(dim3 of) { return {of.x, of.y, of.z}; }

//! What runs a kernel with copies of its arguments.
std::function<void()> task_of(const Entry& entry, dim3 blocks, dim3 threads, std::size_t shared,
                              void** arguments, int gpu) {
  const emulator::Kernel& kernel = *entry.kernel;
  auto copies = std::make_shared<std::vector<std::byte>>(kernel.parameters);
  for (std::size_t i = 0; i < kernel.parameter_offsets.size(); ++i) {
    std::memcpy(copies->data() + kernel.parameter_offsets[i], arguments[i],
                kernel.parameter_bytes[i]);
  }
  return [&kernel, blocks, threads, shared, copies, gpu] {
    try {
      emulator::run_kernel(kernel, triple(blocks), triple(threads), shared, copies->data(), gpu);
    } catch (const emulator::Fault& fault) {
      std::fprintf(stderr, "emulated GPU: a kernel stops itself; %s\n", fault.where.c_str());
      emulator::has_faulted() = true;
    }
  };
}

cudaError_t launch(const void* function, dim3 blocks, dim3 threads, void** arguments,
                   std::size_t shared, cudaStream_t stream) {
  Entry* const entry = entry_of(function);
  if (entry == nullptr || stream == nullptr) return cudaErrorInvalidDeviceFunction;
  if (shared + entry->kernel->static_shared_bytes > shared_allowed(*entry))
    return cudaErrorInvalidValue;
  if (stream->gpu() != current_gpu) return cudaErrorInvalidResourceHandle;
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0 || blocks.y > 65535 || blocks.z > 65535) {
    return cudaErrorInvalidConfiguration;
  }
  const int gpu = current_gpu;
  emulator::queue(*stream, task_of(*entry, blocks, threads, shared, arguments, gpu),
                  {function, [entry, gpu](dim3 grid, dim3 block, std::size_t bytes, void** given) {
                     return task_of(*entry, grid, block, bytes, given, gpu);
                   }});
  static const bool is_blocking = [] {
    const char* const asked = std::getenv("CUDA_LAUNCH_BLOCKING");
    return asked != nullptr && std::strcmp(asked, "1") == 0;
  }();
  if (is_blocking && stream->recording == nullptr) emulator::Stream::reach(stream->here());
  return done();
}

struct Configuration {
  dim3 blocks, threads;
  std::size_t shared;
  cudaStream_t stream;
};
std::vector<Configuration>& configurations() {
  static thread_local std::vector<Configuration> all;
  return all;
}

}  // namespace

extern "C" {

// What nvcc's objects call.

void** __cudaRegisterFatBinary(void* wrapper) {
  struct Wrapper {
    int magic, version;
    const char* data;
  };
  struct Header {
    std::uint32_t magic;
    std::uint16_t version, header_bytes;
    std::uint64_t bytes;
  };
  struct Part {
    std::uint16_t kind, version;
    std::uint32_t header_bytes;
    std::uint64_t bytes;
  };
  constexpr std::uint16_t ptx = 1;
  auto* const modules = new std::vector<std::shared_ptr<emulator::Module>>;
  const char* at = static_cast<Wrapper*>(wrapper)->data;
  Header header{};
  std::memcpy(&header, at, sizeof header);
  const char* const end = at + header.header_bytes + header.bytes;
  at += header.header_bytes;
  while (at < end) {
    Part part{};
    std::memcpy(&part, at, sizeof part);
    const char* const text = at + part.header_bytes;
    if (part.kind == ptx)
      modules->push_back(
          std::make_shared<emulator::Module>(std::string_view(text, strnlen(text, part.bytes))));
    at = text + part.bytes;
  }
  return reinterpret_cast<void**>(modules);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
void __cudaRegisterFunction(void** modules, const char* function, char*, const char* name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  entries().insert({function,
                    {reinterpret_cast<std::vector<std::shared_ptr<emulator::Module>>*>(modules),
                     name,
                     nullptr,
                     {}}});
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, size_t shared,
                                     struct CUstream_st* stream) {
  configurations().push_back({blocks, threads, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* blocks, dim3* threads, size_t* shared, void* stream) {
  if (configurations().empty()) return cudaErrorMissingConfiguration;
  const Configuration last = configurations().back();
  configurations().pop_back();
  *blocks = last.blocks;
  *threads = last.threads;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void** arguments,
                               size_t shared, cudaStream_t stream) {
  return said(launch(kernel, blocks, threads, arguments, shared, stream));
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  return said(launch(function, config->gridDim, config->blockDim, arguments,
                     config->dynamicSmemBytes, config->stream));
}

// Errors.

const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaErrorLaunchFailure ? "cudaErrorLaunchFailure"
                                         : "an error of the emulated GPU";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorLaunchFailure ? "unspecified launch failure"
                                         : "refused by the emulated GPU";
}
cudaError_t cudaGetLastError() {
  done();
  return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  done();
  return last_error;
}

// GPUs.

//! `EMULATED_DRIVER`: which version of CUDA it serves.
cudaError_t cudaDriverGetVersion(int* version) {
  const char* const serves = std::getenv("EMULATED_DRIVER");
  *version = serves == nullptr ? CUDART_VERSION : std::atoi(serves);
  return cudaSuccess;
}
//! `EMULATED_NO_GPU`: there is none.
cudaError_t cudaGetDeviceCount(int* count) {
  *count = std::getenv("EMULATED_NO_GPU") == nullptr ? emulator::gpus() : 0;
  return said(*count == 0 ? cudaErrorNoDevice : cudaSuccess);
}
cudaError_t cudaGetDevice(int* gpu) {
  *gpu = current_gpu;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int gpu) {
  if (gpu < 0 || gpu >= emulator::gpus()) return cudaErrorInvalidDevice;
  current_gpu = gpu;
  return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* reaches, int gpu, int other) {
  *reaches = gpu != other;
  return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned) {
  return other == current_gpu ? cudaErrorInvalidDevice : cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int, int) {
  *id = '\0';
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int gpu) {
  *properties = {};
  properties->uuid.bytes[0] = static_cast<char>(gpu + 1);
  std::strcpy(properties->name, "an emulated GPU");
  properties->major = 9;
  properties->minor = 0;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 33;
  return done();
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(shared_at_most());
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(shared_unasked);
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = 4;
      break;
    case cudaDevAttrMaxGridDimX:
      *value = 2147483647;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    default:
      emulator::unknown("attribute " + std::to_string(attribute));
  }
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                   int threads, size_t, unsigned) {
  *blocks = 2048 / threads;
  return cudaSuccess;
}

// Memory.

//! `EMULATED_PAGES_FILL`: there is no more as long as somebody has pages. `EMULATED_SEGMENTS`: how
//! many there are.
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  if (is_recording) return cudaErrorStreamCaptureUnsupported;
  const char* const most = std::getenv("EMULATED_SEGMENTS");
  if (most != nullptr && segments >= std::strtoul(most, nullptr, 10)) {
    return cudaErrorMemoryAllocation;
  }
  if (emulator::Memory::of_all().physical_pages > 0 &&
      std::getenv("EMULATED_PAGES_FILL") != nullptr) {
    return cudaErrorMemoryAllocation;
  }
  *memory = emulator::Memory::of_all().allocate(bytes, current_gpu);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  ++segments;
  return done();
}
//! That it waits for the GPU no document promises.
cudaError_t cudaFree(void* memory) {
  if (is_recording) return cudaErrorStreamCaptureUnsupported;
  if (emulator::Memory::of_all().free(memory)) --segments;
  return done();
}
cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return *memory == nullptr ? cudaErrorMemoryAllocation : done();
}
cudaError_t cudaFreeHost(void* memory) {
  emulator::Stream::reach_all();
  std::free(memory);
  return done();
}

// Streams and events.

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st(current_gpu);
  return done();
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return done();
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream->recording != nullptr) return cudaErrorStreamCaptureUnsupported;
  emulator::Stream::reach(stream->here());
  return done();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (stream->recording != nullptr) return cudaErrorStreamCaptureUnsupported;
  stream->wait_for(event->place);
  return done();
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st{.gpu = current_gpu};
  return done();
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return done();
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (stream->gpu() != current_gpu || stream->gpu() != event->gpu) {
    return said(cudaErrorInvalidResourceHandle);
  }
  if (stream->recording != nullptr) return cudaErrorStreamCaptureUnsupported;
  event->place = stream->here();
  event->queries = 0;
  return done();
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  emulator::Stream::reach(event->place);
  return done();
}
//! A host that asks at once, or once more, is early; who asks again and again is answered.
cudaError_t cudaEventQuery(cudaEvent_t event) {
  constexpr int early = 8;
  const bool is_reached = event->queries++ < early ? emulator::Stream::has_reached(event->place)
                                                   : emulator::Stream::try_to_reach(event->place);
  return is_reached || emulator::has_faulted() ? done() : said(cudaErrorNotReady);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0.0f;
  return done();
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  emulator::queue(*stream, emulator::copy_of(to, from, bytes));
  if (stream->recording != nullptr) {
    auto& node = stream->recording->nodes.back();
    node.is_copy = true;
    node.to_gpu = emulator::Memory::of_all().gpu_of(to);
    node.from_gpu = emulator::Memory::of_all().gpu_of(from);
  }
  return done();
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  emulator::queue(*stream, [=] {
    emulator::Memory::of_all().expect_room(to, bytes);
    std::memset(to, value, bytes);
    emulator::Memory::of_all().written(to, bytes);
  });
  return done();
}

// Graphs.

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  if (stream->recording != nullptr) return cudaErrorStreamCaptureUnsupported;
  stream->recording = new CUgraph_st;
  is_recording = true;
  return done();
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = static_cast<CUgraph_st*>(std::exchange(stream->recording, nullptr));
  is_recording = false;
  return *graph == nullptr ? cudaErrorInvalidValue : done();
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long*, cudaGraph_t*,
                                     const cudaGraphNode_t** last, const cudaGraphEdgeData**,
                                     size_t* count) {
  static thread_local cudaGraphNode_t node;
  auto& nodes = stream->recording->nodes;
  *status = cudaStreamCaptureStatusActive;
  node = nodes.empty() ? nullptr : reinterpret_cast<cudaGraphNode_t>(&nodes.back());
  *last = &node;
  *count = nodes.empty() ? 0 : 1;
  return done();
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* runnable, cudaGraph_t graph, unsigned long long) {
  if (std::getenv("EMULATED_NO_GRAPHS") != nullptr) return cudaErrorMemoryAllocation;
  *runnable = new CUgraphExec_st(*graph);
  return done();
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return done(); }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return done();
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t runnable) {
  delete runnable;
  return done();
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t runnable, cudaStream_t stream) {
  if (stream->gpu() != current_gpu) return cudaErrorInvalidResourceHandle;
  runnable->launch(*stream);
  return done();
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t runnable, cudaGraphNode_t given,
                                             const cudaKernelNodeParams* now) {
  const auto* const node = reinterpret_cast<emulator::Node*>(given);
  Entry* const entry = entry_of(now->func);
  if (!runnable->has(node) || entry == nullptr || node->kernel.kernel != now->func ||
      now->sharedMemBytes > shared_allowed(*entry)) {
    return cudaErrorInvalidValue;
  }
  runnable->tasks[node->number] = node->kernel.with_arguments(
      now->gridDim, now->blockDim, now->sharedMemBytes, now->kernelParams);
  return done();
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t runnable, cudaGraphNode_t given,
                                               void* to, const void* from, size_t bytes,
                                               cudaMemcpyKind) {
  const auto* const node = reinterpret_cast<emulator::Node*>(given);
  const auto& memory = emulator::Memory::of_all();
  if (!runnable->has(node) || !node->is_copy || memory.gpu_of(to) != node->to_gpu ||
      memory.gpu_of(from) != node->from_gpu) {
    return cudaErrorInvalidValue;
  }
  runnable->tasks[node->number] = emulator::copy_of(to, from, bytes);
  return done();
}

// Kernels.

//! `EMULATED_NO_CODE`: the program was compiled for other GPUs.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  if (std::getenv("EMULATED_NO_CODE") != nullptr) return said(cudaErrorNoKernelImageForDevice);
  const Entry* const entry = entry_of(function);
  if (entry == nullptr) return cudaErrorInvalidDeviceFunction;
  *attributes = {};
  attributes->sharedSizeBytes = entry->kernel->static_shared_bytes;
  attributes->maxThreadsPerBlock = static_cast<int>(entry->kernel->most_threads);
  attributes->ptxVersion = attributes->binaryVersion = entry->kernel->architecture;
  return done();
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  Entry* const entry = entry_of(function);
  if (entry == nullptr) return cudaErrorInvalidDeviceFunction;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return done();
  if (static_cast<std::size_t>(value) + entry->kernel->static_shared_bytes > shared_at_most())
    return cudaErrorInvalidValue;
  shared_allowed(*entry) = static_cast<std::size_t>(value);
  return done();
}

}  // extern "C"
