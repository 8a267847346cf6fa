// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the emulated driver has of virtual memory.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "fault.hpp"
#include "memory.hpp"

namespace {

//! Memory that a page of addresses may have.
struct Physical {
  int gpu;
  CUdeviceptr mapped = 0;  // 0: nowhere
  bool reached = false;
};

//! What a call says that has done its work: after a fault all fail.
CUresult done() { return emulator::has_faulted() ? CUDA_ERROR_LAUNCH_FAILED : CUDA_SUCCESS; }

std::mutex mutex;  // of what follows
std::map<CUmemGenericAllocationHandle, Physical> created;
CUmemGenericAllocationHandle last = 0;

//! What is at a page, or null.
Physical* at(CUdeviceptr address) {
  for (auto& [handle, memory] : created) {
    if (memory.mapped == address) return &memory;
  }
  return nullptr;
}

constexpr auto page_bytes = emulator::Memory::page_bytes;

//! Calls `f(page, memory)`, which says whether it may, for pages behind each other.
template <class F>
CUresult for_pages(CUdeviceptr address, size_t bytes, const F& f) {
  if (bytes == 0 || bytes % page_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  for (size_t done = 0; done < bytes; done += page_bytes) {
    Physical* const memory = at(address + done);
    if (memory == nullptr || !f(address + done, *memory)) return CUDA_ERROR_INVALID_VALUE;
  }
  return done();
}

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = page_bytes;
  return done();
}
CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t, CUdeviceptr,
                             unsigned long long) {
  if (bytes == 0 || bytes % page_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  *address = reinterpret_cast<CUdeviceptr>(emulator::Memory::of_all().reserve(bytes));
  return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : done();
}
CUresult cuMemAddressFree(CUdeviceptr address, size_t) {
  if (!emulator::Memory::of_all().free_addresses(address)) {
    emulator::end("emulated GPU: addresses are freed while they have memory");
  }
  return done();
}
//! `EMULATED_PAGES`: how many there are.
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* wanted, unsigned long long) {
  if (bytes != page_bytes) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(mutex);
  const char* const most = std::getenv("EMULATED_PAGES");
  if (most != nullptr && created.size() >= std::strtoul(most, nullptr, 10)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  created[*handle = ++last] = {wanted->location.id};
  emulator::Memory::of_all().physical_pages = created.size();
  return done();
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex);
  const auto found = created.find(handle);
  if (found == created.end() || found->second.mapped != 0) return CUDA_ERROR_INVALID_VALUE;
  created.erase(found);
  emulator::Memory::of_all().physical_pages = created.size();
  return done();
}
CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  const std::lock_guard lock(mutex);
  const auto found = created.find(handle);
  if (found == created.end() || found->second.mapped != 0 || bytes != page_bytes || offset != 0 ||
      at(address) != nullptr || !emulator::Memory::of_all().is_reserved(address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  found->second.mapped = address;
  found->second.reached = false;
  return done();
}
CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access,
                        size_t count) {
  const std::lock_guard lock(mutex);
  if (count != 1) return CUDA_ERROR_INVALID_VALUE;
  return for_pages(address, bytes, [&](CUdeviceptr page, Physical& memory) {
    if (access->location.id != memory.gpu || std::exchange(memory.reached, true)) return false;
    return emulator::Memory::of_all().set_memory(page, true, memory.gpu);
  });
}
CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  const std::lock_guard lock(mutex);
  return for_pages(address, bytes, [&](CUdeviceptr page, Physical& memory) {
    if (memory.reached) emulator::Memory::of_all().set_memory(page, false, memory.gpu);
    memory.mapped = 0;
    return true;
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** call, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const std::pair<const char*, void*> calls[] = {
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(cuMemGetAllocationGranularity)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(cuMemAddressReserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(cuMemAddressFree)},
      {"cuMemCreate", reinterpret_cast<void*>(cuMemCreate)},
      {"cuMemRelease", reinterpret_cast<void*>(cuMemRelease)},
      {"cuMemMap", reinterpret_cast<void*>(cuMemMap)},
      {"cuMemUnmap", reinterpret_cast<void*>(cuMemUnmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(cuMemSetAccess)}};
  *result = cudaDriverEntryPointSymbolNotFound;
  for (const auto& [known, address] : calls) {
    if (std::strcmp(known, name) != 0) continue;
    *call = address;
    *result = cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}

}  // extern "C"
