// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks a pipeline's schedule and draws it:
//
//     draw_schedule FORWARD BACKWARD WEIGHTS < my.schedule > my.svg
//
// The numbers are what a stage's work on a micro-batch costs; the form of a schedule is described
// in weft/parallel/schedule/read_table.hpp. On stderr it says how much of the time is lost.

#include "common/report_errors.hpp"

#include <weft/parallel/schedule/read_table.hpp>
#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/svg.hpp>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

using namespace weft;

int main(int argc, char** argv) {
  const auto number = [&](int i) { return argc > i ? std::atoi(argv[i]) : 1; };
  const parallel::Costs costs{number(1), number(2), number(3)};
  if (costs.forward < 1 || costs.backward < 1 || costs.weight_gradients < 0) {
    std::fprintf(stderr, "error: costs are positive whole numbers\n");
    return 1;
  }
  return examples::report_errors([&] {
    const std::string schedule{std::istreambuf_iterator<char>(std::cin), {}};
    const auto read = parallel::read_table(schedule, "stdin");
    const auto table = read.view();
    std::printf("%s", parallel::svg(table, costs).c_str());
    std::vector<int> ends(static_cast<std::size_t>(table.places()));
    std::vector<int> next(static_cast<std::size_t>(table.ranks));
    const int makespan = simulate(table, costs, table.micro_batches, ends, next);
    const int work = table.micro_batches * (table.stages / table.ranks) * costs.all();
    std::fprintf(stderr, "%d ranks, %d stages, %d micro-batches: %d of %d units are lost\n",
                 table.ranks, table.stages, table.micro_batches, makespan - work, makespan);
    return 0;
  });
}
