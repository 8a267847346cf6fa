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

#include <charconv>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using namespace weft;

//! A cost that was given. **Errors.** ArgumentError if it is none.
int cost_of(std::string_view word, int least) {
  constexpr int most = 10'000;  // what a table of many micro-batches takes still fits an int
  int cost = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), cost);
  if (error != std::errc{} || end != word.data() + word.size() || cost < least || cost > most) {
    throw ArgumentError(
        text("costs are whole numbers from ", least, " to ", most, ", not '", word, "'"));
  }
  return cost;
}

int main(int argc, char** argv) {
  return examples::report_errors([&] {
    if (argc > 4) throw ArgumentError("draw_schedule takes three numbers at most");
    const auto cost = [&](int i, int least) { return argc > i ? cost_of(argv[i], least) : 1; };
    const parallel::Costs costs{cost(1, 1), cost(2, 1), cost(3, 0)};
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
