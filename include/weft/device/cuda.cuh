// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Logical devices on NVIDIA GPUs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include <weft/core/any_floats.hpp>
#include <weft/core/error.hpp>
#include <weft/core/index.hpp>
#include <weft/device/arena.hpp>
#include <weft/device/attention_library.cuh>
#include <weft/device/cublas.cuh>
#include <weft/device/cuda_error.cuh>
#include <weft/device/cuda_handles.cuh>
#include <weft/device/cuda_lanes.cuh>
#include <weft/device/cuda_operations.cuh>
#include <weft/device/cuda_pages.cuh>
#include <weft/device/cuda_queue.cuh>
#include <weft/device/cuda_row_launches.cuh>
#include <weft/device/cuda_rows.cuh>
#include <weft/device/cuda_staging.cuh>
#include <weft/device/device.hpp>
#include <weft/device/memory_source.hpp>
#include <weft/device/nvml.hpp>
#include <weft/device/product_precision.hpp>
#include <weft/device/worker.hpp>

namespace weft {

//! A stream of a GPU with memory of its own. Several may share one GPU: device `index` is on GPU
//! `index` modulo the number of GPUs.
//!
//! Operations are queued: they return before their result is there, and `download` or `synchronize`
//! waits for it. Memory is given out again in the order of the stream, without waiting.
class Cuda {
 public:
  //! On the first GPU. **Errors.** As below.
  Cuda() : Cuda(1, 0) {}
  //! Device `index`. `threads` is how many a Cpu would have, and means nothing here.
  //!
  //! **Errors.** CudaError if there is no GPU, its driver is too old, or the program holds no code
  //! for it.
  Cuda(int threads, int index) : index_(index), arena_(gpu_memory(this)) {
    static_cast<void>(threads);
    gpu_ = index % gpus();
    was_made_ = true;
    activate();
    find_code();
    detail::expect_success(cudaDeviceGetAttribute(&shared_bytes_of_block_,
                                                  cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu_),
                           "asking for a block's shared memory");
    std::size_t free = 0, total = 0;
    detail::expect_success(cudaMemGetInfo(&free, &total), "asking for the GPU's memory");
    memory_bytes_ = static_cast<index_t>(total);
    queue_.begin();
    reached_ = detail::make_event();
  }

  Cuda(const Cuda&) = delete;
  Cuda& operator=(const Cuda&) = delete;

  ~Cuda() { cudaSetDevice(gpu_); }

  [[nodiscard]] int index() const { return index_; }
  //! Which GPU it is on.
  [[nodiscard]] int gpu() const { return gpu_; }
  //! How many GPUs this machine has. **Errors.** CudaError if none, or if the driver is too old.
  [[nodiscard]] static int gpus() {
    expect_driver();
    int gpus = 0;
    detail::expect_success(cudaGetDeviceCount(&gpus), "looking for GPUs");
    if (gpus == 0) throw CudaError("looking for GPUs: there is none");
    return gpus;
  }
  //! Whether this process has made one: of its environment the driver has read what it reads.
  [[nodiscard]] static bool was_made() { return was_made_; }
  //! How much shared memory a block of a kernel may have.
  [[nodiscard]] index_t shared_bytes_of_block() const { return shared_bytes_of_block_; }
  //! How much memory the GPU has, whoever uses it.
  [[nodiscard]] index_t memory_bytes() const { return memory_bytes_; }
  //! The stream of its operations, with all that were called before.
  [[nodiscard]] cudaStream_t stream() {
    activate();
    return queue_.stream();
  }

  //! Whether what is called between two waits is launched as one CUDA graph, where the same kernels
  //! were called before: off unless it was set. Worth it where kernels are short.
  void set_graphs(bool on) {
    activate();
    queue_.set_graphs(on);
    // What is called may not have been launched yet.
    arena_.keep_segments(on || keeps_segments_);
  }
  //! From now on the pool gives no memory back to the GPU: to free some waits for all its kernels,
  //! and those of NCCL's wait for other ranks.
  void keep_segments() {
    keeps_segments_ = true;
    arena_.keep_segments(true);
  }
  //! Operations that were called.
  [[nodiscard]] index_t operations() const { return queue_.operations(); }
  //! Launches that they took, of kernels, copies, products and graphs.
  [[nodiscard]] index_t launches() const { return queue_.launches(); }
  //! Which of the machine's GPUs it is, whatever CUDA_VISIBLE_DEVICES says.
  [[nodiscard]] std::string pci_bus_id() const {
    char id[32] = "";
    detail::expect_success(cudaDeviceGetPCIBusId(id, sizeof id, gpu_), "asking for a PCI bus");
    return id;
  }
  //! As the driver tells it.
  [[nodiscard]] std::optional<GpuUsage> gpu_usage() const {
    return Nvml::library().usage(pci_bus_id());
  }

  //! Of its matrix products: float32 unless it was set.
  [[nodiscard]] ProductPrecision product_precision() const { return product_precision_; }
  //! From the next product on.
  void set_product_precision(ProductPrecision precision) { product_precision_ = precision; }

  //! Whether attention may multiply by warpgroups (`wgmma`): yes unless it was set.
  void set_wgmma(bool on) { wgmma_ = on; }
  //! Whether it does: it may, the program was compiled for sm_90a, and this is such a GPU.
  [[nodiscard]] bool uses_wgmma() const { return has_wgmma_ && wgmma_; }

  //! Whether short sequences may have attention kernels of their own: yes unless it was set. From
  //! the next attention on.
  void set_short_attention(bool on) { short_attention_ = on; }
  //! Whether they may.
  [[nodiscard]] bool short_attention() const { return short_attention_; }

  //! Whether attention may be that of the library which `weft/cudnn.cuh` brings: yes unless it was
  //! set. From the next attention on, which may be the backward pass of an earlier one.
  void set_library_attention(bool on) { library_attention_ = on; }
  //! That library, begun when first asked for; null if the program has none, this GPU is not one of
  //! its, or it is switched off. The GPU is then that of the calling thread.
  [[nodiscard]] detail::AttentionLibrary* attention_library() {
    if (!library_attention_ || detail::make_attention_library == nullptr) return nullptr;
    activate();
    if (!attention_library_) attention_library_ = detail::make_attention_library();
    return attention_library_->get();
  }

  //! Whether that library's attention is to have the same bits each time: yes unless it was set.
  //! Weft's own operations always have.
  [[nodiscard]] bool deterministic() const { return deterministic_; }
  //! From the next attention on. Without, its backward pass adds in whatever order blocks end, and
  //! neither runs nor strategies can be compared bit by bit.
  void set_deterministic(bool on) { deterministic_ = on; }

  //! Makes the GPU that of the calling thread, for calls of CUDA's own.
  void activate() const {
    const cudaError_t status = cudaSetDevice(gpu_);
    if (status != cudaSuccess) {
      detail::expect_success(status, text("choosing GPU ", gpu_, " for ", to_text(*this)).c_str());
    }
  }

  //! **Cost.** With graphs it launches what is listed and waits for it where the GPU has no more
  //! memory, before it says so.
  //! **Errors.** SystemError if the GPU has no more memory.
  [[nodiscard]] Memory allocate(index_t bytes) {
    activate();
    try {
      return arena_.allocate(bytes);
    } catch (const SystemError&) {
      const bool had_pages = pages_.give_back_unused(queue_);
      if (!give_back_segments() && !had_pages) throw;
      return arena_.allocate(bytes);
    }
  }
  //! Whether what is reserved from now on has pages: yes unless it was set, or a communicator of
  //! several ranks over NCCL was made for the device. Without, it is as what is allocated.
  void set_pages(bool on) { has_pages_ = on; }
  //! Whether it has: what is reserved then costs no memory until it is committed.
  [[nodiscard]] bool has_pages() {
    activate();
    return has_pages_ && pages_.can_reserve(gpu_);
  }
  //! Addresses of the GPU, memory in pages (of 2 MiB) behind those that are committed, where the
  //! driver has that; else as `allocate`.
  [[nodiscard]] Memory reserve(index_t bytes) {
    return has_pages() ? pages_.reserve(bytes) : allocate(bytes);
  }
  //! **Cost.** Waits for pages that were discarded and are still used, before it takes more.
  //! **Errors.** SystemError if the GPU has no more memory.
  void commit(void* pointer, index_t bytes) {
    activate();
    const auto attempt = [&] { waits_ += pages_.commit(pointer, bytes, queue_); };
    try {
      attempt();
    } catch (const SystemError&) {
      give_back_segments();
      attempt();
    }
  }
  //! Of what `reserve` returned whole pages go, once the stream has come so far; of what `allocate`
  //! did nothing. What cannot go stays. What was called before and fails now is thrown by the next
  //! call.
  void discard(void* pointer, index_t bytes) noexcept {
    try {
      activate();
      pages_.discard(pointer, bytes, queue_);
    } catch (const std::exception&) {
    }
  }
  //! The GPU's memory in pages, besides that of the pool.
  [[nodiscard]] CudaPageUse pages() const { return pages_.use(); }

  //! The pool that its tensors lie in.
  [[nodiscard]] const Arena& memory() const { return arena_; }
  //! The pool that its tensors lie in.
  [[nodiscard]] Arena& memory() { return arena_; }

  void upload(void* to, const void* from, index_t bytes) {
    if (bytes == 0) return;
    activate();
    staging_.upload(to, from, bytes, queue_);
  }

  void download(void* to, const void* from, index_t bytes) {
    if (bytes > 0) {
      activate();
      // Memory that is not pinned makes it wait for the stream, and find what failed there.
      expect_reached(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes),
                                     cudaMemcpyDeviceToHost, queue_.stream()));
    }
    synchronize();
  }

  void copy(void* to, const void* from, index_t bytes) {
    if (bytes == 0) return;
    activate();
    queue_.add("copying",
               detail::MemoryCopy{to, from, static_cast<std::size_t>(bytes), cudaMemcpyDefault});
  }

  void clear(void* to, index_t bytes) {
    if (bytes == 0) return;
    activate();
    call("writing zeros", detail::MemoryClear{to, static_cast<std::size_t>(bytes)});
  }

  //! So many counters, all 0, for blocks of one launch to find which of them ends last; a kernel
  //! leaves them as it found them.
  [[nodiscard]] unsigned* counters(index_t count) {
    if (count > counters_count_) {
      const index_t more = std::max(count, 2 * counters_count_);
      const index_t bytes = more * index_t{sizeof(unsigned)};
      const Memory zeros = allocate(bytes);
      clear(zeros.data(), bytes);
      static_cast<void>(stream());  // a list that fails later would leave them as they are
      counters_ = zeros;
      counters_count_ = more;
    }
    return reinterpret_cast<unsigned*>(counters_.data());
  }

  void submit(Worker::Task task) { worker_.submit(task); }

  //! **Errors.** CudaError for what failed since the last call, with the operation that was queued
  //! last. A kernel that faulted makes every later call fail.
  void synchronize() {
    activate();
    ++waits_;
    expect_reached(cudaStreamSynchronize(queue_.stream()));
  }

  //! Without making the host wait. From now on copies between two GPUs go straight, where they can.
  void wait_for(Cuda& other) {
    if (&other == this) return;
    connect(other);
    detail::expect_success(cudaEventRecord(other.reached_.get(), other.stream()),
                           "recording an event");
    detail::expect_success(cudaStreamWaitEvent(stream(), other.reached_.get()),
                           "waiting for an event");
  }

  //! How often the host has waited for the device.
  [[nodiscard]] index_t waits() const { return waits_; }

  //! A pass over parameters takes them all at once.
  static constexpr bool small_passes = false;
  static constexpr bool on_host = false;
  //! Products and attention round what they write for each other, and read 16 bytes at once.
  static constexpr bool rounds_results = true;
  //! So many rows make a product worth reading its weights and changing their gradient: 12 bytes an
  //! element take as long as the products of some 450 rows in 16 bits, on a GPU of Hopper's, and a
  //! tenth of the time is to be left of that.
  static constexpr index_t rows_worth_weights = 4096;

  static bool shares_memory(const Cuda& a, const Cuda& b) { return a.gpu_ == b.gpu_; }

  //! Calls `f(lanes, row)` for each of n rows whose work is about `cost` elements: a warp for a
  //! short row, a block for a long one. Where each number comes of its own column, as `F` says by
  //! `is_by_element`, a block begins to be worth it where each of its threads has four of them:
  //! lanes need not meet, and few rows keep more of the GPU busy.
  template <class F>
  void for_rows(index_t n, index_t cost, const F& f) {
    detail::launch_rows(*this, n, cost, f);
  }

  //! Queues a kernel; on a grid without blocks nothing. `name`, which must stay, is what errors
  //! call it.
  //!
  //! **Errors.** CudaError if it cannot be launched, or a GPU takes no grid of that size.
  template <class... Parameters, class... Arguments>
  void launch(const char* name, const CudaGrid& grid, void (*kernel)(Parameters...),
              Arguments&&... arguments) {
    constexpr index_t most = CudaGrid::most, most_across = CudaGrid::most_across;
    if (grid.x > most || grid.y > most_across || grid.z > most_across) {
      throw CudaError(text(name, ": ", grid.x, " x ", grid.y, " x ", grid.z,
                           " blocks, a GPU takes ", most, " x ", most_across, " x ", most_across));
    }
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
    activate();
    queue_.add(name,
               detail::KernelLaunch<Parameters...>{
                   grid, kernel, std::tuple<Parameters...>(std::forward<Arguments>(arguments)...)});
  }

  //! Queues what a library launches: `library(stream)`, which can be compared and copied byte by
  //! byte. `name`, which must stay, is what errors call it.
  template <class Library>
  void call(const char* name, const Library& library) {
    activate();
    queue_.add(name, detail::LibraryCall<Library>{library});
  }

  //! Products of matrices on this device, those of floats in its precision.
  //!
  //! **Errors.** CudaError if cuBLASLt has no algorithm for it.
  void multiply(const detail::CublasProduct& product, const detail::CublasOperands& operands,
                bool accumulate) {
    begin_products();
    call("a product by cuBLASLt",
         detail::CublasCall{&cublas_, product, product_precision_, operands, accumulate});
  }
  //! Whether such a product can do the epilogue of its operands.
  [[nodiscard]] bool can_multiply(const detail::CublasProduct& product,
                                  const detail::CublasOperands& operands) {
    begin_products();
    return cublas_.supports(product, product_precision_, operands);
  }

  friend std::string to_text(const Cuda& device) {
    return text("cuda:", device.index(), " (GPU ", device.gpu(), ")");
  }

 private:
  static MemorySource gpu_memory(Cuda* device) {
    return {
        .alignment = 256,  // what cuBLASLt wants of its workspace
        .request = [](index_t bytes) -> Segment {
          for (index_t size = std::max(bytes, least_segment);; size = bytes) {
            void* memory = nullptr;
            const cudaError_t status = cudaMalloc(&memory, static_cast<std::size_t>(size));
            if (status != cudaErrorMemoryAllocation) {
              detail::expect_success(status, "allocating memory of a GPU");
              return {static_cast<std::byte*>(memory), size, size};
            }
            cudaGetLastError();  // an error that is told is over
            if (size == bytes) return {};
          }
        },
        .give_back = [](const Segment& segment) { cudaFree(segment.data); },
        // That cudaFree waits for the GPU is not promised.
        .wait = [](void* context) { static_cast<Cuda*>(context)->synchronize(); },
        .context = device};
  }

  //! Gives the GPU the pool's free segments, unless that could wait for other ranks. Whether there
  //! were any. Nothing may be listed that uses them, and no graph have their addresses.
  bool give_back_segments() {
    if (keeps_segments_) return false;
    if (queue_.graphs()) {
      queue_.set_graphs(true);
      synchronize();
    }
    return arena_.give_back_free();
  }

  void begin_products() {
    activate();
    cublas_.begin([this](index_t bytes) { return allocate(bytes); });
  }

  //! **Errors.** CudaError without a driver, or with one older than the toolkit's least.
  static void expect_driver() {
    int serves = 0;
    cudaDriverGetVersion(&serves);
    const auto version = [](int number) { return text(number / 1000, ".", number % 1000 / 10); };
    if (serves == 0) throw CudaError("looking for GPUs: there is no NVIDIA driver");
    if (serves / 1000 < CUDART_VERSION / 1000) {
      throw CudaError(text("the NVIDIA driver serves CUDA ", version(serves),
                           ", the program was compiled with CUDA ", version(CUDART_VERSION),
                           ": install a newer driver"));
    }
  }

  //! Learns for which GPUs the program's code was compiled.
  //!
  //! **Errors.** CudaError unless it was for this one.
  void find_code();

  //! **Errors.** CudaError that names the operation that was queued last.
  void expect_reached(cudaError_t status) const {
    if (status == cudaSuccess) return;
    detail::expect_success(
        status,
        text("waiting for GPU ", gpu_, ", on which was queued last ", queue_.last()).c_str());
  }

  //! Lets this GPU reach the other's memory. Without that CUDA copies by way of the host.
  void connect(const Cuda& other) {
    const auto peer = static_cast<std::size_t>(other.gpu_);
    if (other.gpu_ == gpu_ || (peer < connected_.size() && connected_[peer])) return;
    connected_.resize(std::max(connected_.size(), peer + 1));
    connected_[peer] = true;
    int reaches = 0;
    activate();
    if (cudaDeviceCanAccessPeer(&reaches, gpu_, other.gpu_) != cudaSuccess ||
        (reaches != 0 && cudaDeviceEnablePeerAccess(other.gpu_, 0) != cudaSuccess)) {
      cudaGetLastError();  // another device of this GPU was first, or it has too many peers
    }
  }

  static inline std::atomic<bool> was_made_ = false;

  int index_;
  ProductPrecision product_precision_ = ProductPrecision::float32;
  int gpu_ = 0;
  bool has_wgmma_ = false, wgmma_ = true;
  int shared_bytes_of_block_ = 0;
  index_t memory_bytes_ = 0;
  std::atomic<index_t> waits_{0};
  std::vector<bool> connected_;  // the GPUs whose memory this one may reach
  Arena arena_;
  bool keeps_segments_ = false;  // of the arena, whether graphs are on or not
  detail::CudaPages pages_;
  bool has_pages_ = true;
  Memory counters_;
  index_t counters_count_ = 0;
  detail::CudaStaging staging_;
  detail::Cublas cublas_;
  bool short_attention_ = true, library_attention_ = true, deterministic_ = true;
  std::optional<std::unique_ptr<detail::AttentionLibrary>> attention_library_;  // empty: not begun
  detail::CudaEvent reached_;  // where the stream was when another was told to wait for it
  detail::CudaQueue queue_;    // ends before the memory that its operations use
  Worker worker_;              // ends before the queue that its tasks use
};

inline void Cuda::find_code() {
  cudaFuncAttributes attributes{};
  const cudaError_t status =
      cudaFuncGetAttributes(&attributes, detail::block_a_row<CudaLanes<256>, detail::NothingRow>);
  has_wgmma_ = attributes.maxThreadsPerBlock == detail::NothingRow::threads_with_wgmma;
  const bool lacks_code = status == cudaErrorNoKernelImageForDevice ||
                          status == cudaErrorInvalidDeviceFunction ||
                          status == cudaErrorInvalidPtx || status == cudaErrorUnsupportedPtxVersion;
  if (!lacks_code) return detail::expect_success(status, "loading kernels");
  cudaDeviceProp gpu{};
  cudaGetDeviceProperties(&gpu, gpu_);
  cudaGetLastError();
  throw CudaError(text("GPU ", gpu_, " (", gpu.name, "): ", cudaGetErrorString(status),
                       ". Compile for it: nvcc -gencode arch=compute_", gpu.major, gpu.minor,
                       ",code=sm_", gpu.major, gpu.minor,
                       ", with Meson -Dgpu_architectures=", gpu.major, gpu.minor));
}

static_assert(Device<Cuda>);

}  // namespace weft
