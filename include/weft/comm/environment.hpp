// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What a launcher says about the process that it started.
#pragma once

#include <charconv>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

#include <weft/core/error.hpp>
#include <weft/io/detail/messages.hpp>

namespace weft::comm {

//! Who started this process as a rank.
enum class Launcher { none, open_mpi, hydra, torchrun, slurm };

//! The program that starts ranks, as users call it: "mpirun".
[[nodiscard]] constexpr const char* to_text(Launcher launcher) {
  switch (launcher) {
    case Launcher::none:
      return "no launcher";
    case Launcher::open_mpi:
    case Launcher::hydra:
      return "mpirun";
    case Launcher::torchrun:
      return "torchrun";
    case Launcher::slurm:
      return "srun";
  }
  return "";
}

//! The place of this process among those that were started together.
struct Environment {
  Launcher launcher = Launcher::none;  //!< who started the process
  int rank = 0;                        //!< among all processes
  int size = 1;                        //!< how many processes there are
  int local_rank = 0;                  //!< among the processes of this machine
  std::string master_address{};        //!< where rank 0 listens; torchrun only
  int master_port = 0;                 //!< of rank 0; torchrun only
  std::string job{};                   //!< the same for all processes; torchrun's --rdzv-id only
};

//! A variable of the environment, or null.
using GetVariable = std::function<const char*(const char* name)>;

namespace detail {

class EnvironmentReader {
 public:
  EnvironmentReader(Launcher launcher, const GetVariable& get) : launcher_(launcher), get_(get) {}

  [[nodiscard]] std::string word(const char* name) const {
    const char* value = get_(name);
    if (value == nullptr || *value == '\0') {
      throw ArgumentError(text(to_text(launcher_), " started this process, but the variable ", name,
                               " is not set"));
    }
    return value;
  }

  //! A number from `least` to `most`.
  [[nodiscard]] int number(const char* name, int least, int most) const {
    const std::string value = word(name);
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < least ||
        number > most) {
      throw ArgumentError(text("the variable ", name, " is '", io::detail::readable(value),
                               "', not a number from ", least, " to ", most));
    }
    return number;
  }

  [[nodiscard]] Environment read(const char* rank, const char* size, const char* local_rank) const {
    constexpr int most_ranks = 1 << 20;
    Environment result;
    result.launcher = launcher_;
    result.size = number(size, 1, most_ranks);
    result.rank = number(rank, 0, result.size - 1);
    result.local_rank = number(local_rank, 0, result.size - 1);
    return result;
  }

 private:
  Launcher launcher_;
  const GetVariable& get_;
};

}  // namespace detail

//! Reads the variables of Open MPI's `mpirun`, of Hydra, which is that of MPICH and Intel MPI
//! (PMI_RANK, PMI_SIZE, MPI_LOCALRANKID), of `torchrun` (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,
//! MASTER_PORT) or of Slurm's `srun`; the first that is there counts, in this order.
//!
//! A script of `sbatch` is no rank: only the processes of a job step are, where there are several.
//! The only one may be a shell (`srun --pty bash`, `salloc`), and what is called there has no
//! launcher.
//! **Errors.** ArgumentError names the variable that is missing or makes no sense.
[[nodiscard]] inline Environment read_environment(const GetVariable& get = [](const char* name) {
  return static_cast<const char*>(std::getenv(name));
}) {
  const auto any = [&](auto... names) { return ((get(names) != nullptr) || ...); };
  const char* job = get("TORCHELASTIC_RUN_ID");
  const bool by_torchrun = job != nullptr;  // which mpirun may have started
  if (!by_torchrun && any("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")) {
    return detail::EnvironmentReader(Launcher::open_mpi, get)
        .read("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK");
  }
  // PMI_RANK does not tell: srun --mpi=pmi2 sets it too. Hydra starts by srun what starts its
  // ranks.
  if (!by_torchrun && any("MPI_LOCALRANKID", "MPI_LOCALNRANKS")) {
    return detail::EnvironmentReader(Launcher::hydra, get)
        .read("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID");
  }
  if (any("WORLD_SIZE", "RANK", "LOCAL_RANK")) {
    const detail::EnvironmentReader reader(Launcher::torchrun, get);
    Environment result = reader.read("RANK", "WORLD_SIZE", "LOCAL_RANK");
    result.master_address = reader.word("MASTER_ADDR");
    result.master_port = reader.number("MASTER_PORT", 1, 65535);
    if (by_torchrun) result.job = job;
    // torchrun itself listens on that port, and says so: the ranks take the next one.
    const char* taken = get("TORCHELASTIC_USE_AGENT_STORE");
    if (taken != nullptr && std::string_view(taken) == "True") {
      result.master_port = result.master_port % 65535 + 1;
    }
    return result;
  }
  if (any("SLURM_STEP_NUM_TASKS")) {
    const Environment result = detail::EnvironmentReader(Launcher::slurm, get)
                                   .read("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID");
    if (result.size > 1) return result;
  }
  return {};
}

}  // namespace weft::comm
