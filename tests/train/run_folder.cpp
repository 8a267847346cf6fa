// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/run_folder.hpp>

#include <weft/io/atomic_file.hpp>
#include <weft/io/input_file.hpp>

#include <catch2/catch.hpp>

#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "../message_of.hpp"
#include "../temporary_folder.hpp"

namespace run_folder_tests {

using namespace weft;
using train::RunFolder;
using weft::testing::message_of;
using weft::testing::TemporaryFolder;

namespace {

using Names = std::set<std::string>;

Names names_in(const std::string& path) {
  Names names;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

}  // namespace

TEST_CASE("a run's folder is made with those above it, and names the files in it") {
  const TemporaryFolder temporary;
  const auto path = temporary.path("runs/de-en/1");
  const RunFolder folder(path);
  CHECK(std::filesystem::is_directory(path));
  CHECK(folder.path() == path);
  CHECK(folder.state() == path + "/state.safetensors");
  CHECK(folder.best() == path + "/best.safetensors");
  CHECK(folder.average() == path + "/average.safetensors");
  CHECK(folder.epoch(12) == path + "/epoch-12.safetensors");
  CHECK(folder.vocabulary("source") == path + "/source.vocabulary");
}

TEST_CASE("a folder that is there keeps its files") {
  const TemporaryFolder temporary;
  temporary.write("state.safetensors", "old");
  const RunFolder folder(temporary.path(""));
  CHECK(names_in(temporary.path("")) == Names{"state.safetensors"});
}

TEST_CASE("a folder that cannot be made is refused with its path and the reason") {
  const TemporaryFolder temporary;
  const auto file = temporary.write("file", "");
  CHECK(message_of<SystemError>([&] { return RunFolder(file + "/run"); }) ==
        "cannot make the folder " + file + "/run: Not a directory");
  CHECK_THAT(message_of<SystemError>([&] { return RunFolder(file); }),
             Catch::StartsWith("cannot make the folder " + file + ": "));
  CHECK_THAT(message_of<SystemError>([&] { return RunFolder(""); }),
             Catch::StartsWith("cannot make the folder : "));
  CHECK(std::filesystem::is_regular_file(file));
}

TEST_CASE("only a folder that is there is an existing one") {
  const TemporaryFolder temporary;
  const auto missing = temporary.path("missing");
  CHECK(message_of<SystemError>([&] { return RunFolder::existing(missing); }) ==
        "there is no folder " + missing);
  CHECK_FALSE(std::filesystem::exists(missing));
  const auto file = temporary.write("file", "");
  CHECK(message_of<SystemError>([&] { return RunFolder::existing(file); }) ==
        "there is no folder " + file);
  CHECK(RunFolder::existing(temporary.path("")).path() == temporary.path(""));
}

TEST_CASE("the best model is set aside and taken back, a link to it as what it names") {
  for (const bool is_link : {false, true}) {
    CAPTURE(is_link);
    const TemporaryFolder temporary;
    const RunFolder folder(temporary.path("run"));
    folder.set_best_aside();  // nothing is there yet
    io::write_file(is_link ? folder.epoch(3) : folder.best(), "of epoch 3");
    if (is_link) std::filesystem::create_symlink("epoch-3.safetensors", folder.best());
    folder.set_best_aside();
    io::write_file(folder.best(), "of an epoch that was not finished");
    folder.set_best_aside();  // the first stays
    folder.take_best_back(/*had_best=*/true);
    CHECK(io::read_file(folder.best()) == "of epoch 3");
    CHECK_FALSE(std::filesystem::is_symlink(folder.best()));
    CHECK(names_in(folder.path()) ==
          (is_link ? Names{"best.safetensors", "epoch-3.safetensors"} : Names{"best.safetensors"}));
  }
}

TEST_CASE("a run goes on only from a state") {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path("run"));
  temporary.write("run/config.json", "{}");
  CHECK(message_of<ArgumentError>([&] { return folder.expect_state(), 0; }) ==
        folder.path() + ": no run has saved its state there yet; start one anew, without --resume");
  temporary.write("run/state.safetensors", "");
  CHECK(message_of<ArgumentError>([&] { return folder.expect_state(), 0; }) == "(no error)");
}

TEST_CASE("the latest epochs are listed oldest first, those that are there") {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path("run"));
  for (const int number : {-3, 0, 1, 2, 4, 9, 10, 11}) {
    temporary.write(text("run/epoch-", number, ".safetensors"), "");
  }
  using Paths = std::vector<std::string>;
  CHECK(folder.epochs(11, 3) == Paths{folder.epoch(9), folder.epoch(10), folder.epoch(11)});
  CHECK(folder.epochs(10, 1) == Paths{folder.epoch(10)});
  CHECK(folder.epochs(4, 10) == Paths{folder.epoch(1), folder.epoch(2), folder.epoch(4)});
  CHECK(folder.epochs(8, 3).empty());
  constexpr index_t any = std::numeric_limits<index_t>::max();
  CHECK(folder.epochs(2, any) == Paths{folder.epoch(1), folder.epoch(2)});
  CHECK(folder.epochs(any, 1).empty());
  CHECK(folder.epochs(11, 0).empty());
}

TEST_CASE("epochs before the latest are removed, and nothing else") {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path("run"));
  for (int number = 1; number <= 6; ++number) {
    temporary.write(text("run/epoch-", number, ".safetensors"), "");
  }
  temporary.write("run/best.safetensors", "");
  folder.keep_epochs(6, 10);
  CHECK(names_in(folder.path()).size() == 7);
  folder.keep_epochs(6, 2);
  CHECK(names_in(folder.path()) ==
        Names{"best.safetensors", "epoch-5.safetensors", "epoch-6.safetensors"});
}

TEST_CASE("a run that claims its folder keeps others out until its last copy goes") {
  const TemporaryFolder temporary;
  const auto path = temporary.path("run");
  const auto claim = [&] {
    return message_of<SystemError>([&] {
      RunFolder other(path);
      other.claim();
      return 0;
    });
  };
  {
    RunFolder first(path);
    temporary.write("run/state.safetensors.tmp-17-3", "half");
    first.claim();
    CHECK(names_in(path) == Names{"lock"});
    const RunFolder copy(first);
    first = RunFolder(temporary.path("another"));
    CHECK_THAT(claim(), Catch::StartsWith("another run writes to " + path + ": process "));
  }
  CHECK(claim() == "(no error)");
  CHECK(names_in(path).empty());
}

}  // namespace run_folder_tests
