// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/comm/environment.hpp>

#include <catch2/catch.hpp>

#include <map>
#include <string>

#include "../message_of.hpp"

namespace environment_tests {

using namespace weft;
using namespace weft::comm;
using weft::testing::message_of;

namespace {

using Variables = std::map<std::string, std::string>;

Environment read(const Variables& variables) {
  return read_environment([&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? nullptr : at->second.c_str();
  });
}

std::string error(Variables variables, const std::string& name, const char* value) {
  if (value == nullptr) {
    variables.erase(name);
  } else {
    variables[name] = value;
  }
  return message_of<ArgumentError>([&] { return read(variables); });
}

const Variables open_mpi{{"OMPI_COMM_WORLD_RANK", "3"},
                         {"OMPI_COMM_WORLD_SIZE", "4"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
const Variables hydra{
    {"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
const Variables torchrun{{"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"MASTER_ADDR", "node0"},
                         {"MASTER_PORT", "29500"}};
const Variables slurm{{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_LOCALID", "0"}};

}  // namespace

TEST_CASE("without a launcher there is one rank") {
  const Variables script{{"SLURM_PROCID", "0"}};  // of sbatch
  const Variables shell{
      {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_LOCALID", "0"}};
  for (const Variables& variables : {Variables{}, script, shell}) {
    const auto environment = read(variables);
    CHECK(environment.launcher == Launcher::none);
    CHECK(environment.rank == 0);
    CHECK(environment.size == 1);
  }
}

TEST_CASE("launchers tell a process its place") {
  const auto mpi = read(open_mpi);
  CHECK(mpi.launcher == Launcher::open_mpi);
  CHECK((mpi.rank == 3 && mpi.size == 4 && mpi.local_rank == 1));
  const auto mpich = read(hydra);
  CHECK(mpich.launcher == Launcher::hydra);
  CHECK((mpich.rank == 3 && mpich.size == 4 && mpich.local_rank == 1));
  const auto torch = read(torchrun);
  CHECK(torch.launcher == Launcher::torchrun);
  CHECK((torch.rank == 5 && torch.size == 8 && torch.local_rank == 1));
  CHECK((torch.master_address == "node0" && torch.master_port == 29500));
  Variables with_agent = torchrun;  // the real one's own process listens on the port
  with_agent["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  CHECK(read(with_agent).master_port == 29501);
  CHECK(read(with_agent).job == "");
  with_agent["TORCHELASTIC_RUN_ID"] = "nightly";
  CHECK(read(with_agent).job == "nightly");
  const auto srun = read(slurm);
  CHECK(srun.launcher == Launcher::slurm);
  CHECK((srun.rank == 2 && srun.size == 3 && srun.local_rank == 0));
}

TEST_CASE("what was started last counts") {
  Variables both = slurm;  // a script of sbatch that calls mpirun
  both.insert(open_mpi.begin(), open_mpi.end());
  CHECK(read(both).launcher == Launcher::open_mpi);
  Variables hydra_in_slurm = slurm;  // its mpirun reaches the machines by srun
  hydra_in_slurm.insert(hydra.begin(), hydra.end());
  CHECK(read(hydra_in_slurm).launcher == Launcher::hydra);
  Variables pmi2 = slurm;  // srun --mpi=pmi2
  pmi2.insert({{"PMI_RANK", "2"}, {"PMI_SIZE", "3"}});
  CHECK(read(pmi2).launcher == Launcher::slurm);
  Variables torch_in_slurm = slurm;
  torch_in_slurm.insert(torchrun.begin(), torchrun.end());
  CHECK(read(torch_in_slurm).launcher == Launcher::torchrun);
  for (const Variables& outer : {hydra, open_mpi}) {  // an mpirun that starts torchrun
    Variables torch_in_mpi = torchrun;
    torch_in_mpi.insert(outer.begin(), outer.end());
    torch_in_mpi.insert({"TORCHELASTIC_RUN_ID", "none"});
    CHECK(read(torch_in_mpi).launcher == Launcher::torchrun);
  }
}

TEST_CASE("a variable that is missing or makes no sense is named") {
  CHECK(error(open_mpi, "OMPI_COMM_WORLD_RANK", nullptr) ==
        "mpirun started this process, but the variable OMPI_COMM_WORLD_RANK is not set");
  CHECK(error(hydra, "PMI_SIZE", nullptr) ==
        "mpirun started this process, but the variable PMI_SIZE is not set");
  CHECK(error(hydra, "MPI_LOCALRANKID", "4") ==
        "the variable MPI_LOCALRANKID is '4', not a number from 0 to 3");
  CHECK(error(torchrun, "MASTER_ADDR", nullptr) ==
        "torchrun started this process, but the variable MASTER_ADDR is not set");
  CHECK(error(torchrun, "MASTER_ADDR", "").find("MASTER_ADDR") != std::string::npos);
  CHECK(error(torchrun, "MASTER_PORT", "70000") ==
        "the variable MASTER_PORT is '70000', not a number from 1 to 65535");
  CHECK(error(torchrun, "WORLD_SIZE", nullptr).find("WORLD_SIZE") != std::string::npos);
  CHECK(error(slurm, "SLURM_PROCID", "3") ==
        "the variable SLURM_PROCID is '3', not a number from 0 to 2");
  CHECK(error(slurm, "SLURM_STEP_NUM_TASKS", "two") ==
        "the variable SLURM_STEP_NUM_TASKS is 'two', not a number from 1 to 1048576");
  CHECK(error(slurm, "SLURM_STEP_NUM_TASKS", (std::string(1000, 'x')).c_str()) ==
        "the variable SLURM_STEP_NUM_TASKS is '" + std::string(120, 'x') +
            "...', not a number from 1 to 1048576");
  CHECK(error(open_mpi, "OMPI_COMM_WORLD_SIZE", "0").find("'0'") != std::string::npos);
}

}  // namespace environment_tests
