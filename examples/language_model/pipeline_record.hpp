// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file What the ranks of a pipeline did in some batches of a run.
#pragma once

#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/parallel/pipeline_trace.hpp>
#include <weft/parallel/schedule/simulate.hpp>
#include <weft/parallel/schedule/table.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace language_model {

namespace detail {

//! The share of the time that a schedule loses where all stages cost the same.
inline double lost_by_schedule(const weft::parallel::TableView& table, int micro_batches) {
  std::vector<int> ends(static_cast<std::size_t>(table.places()));
  std::vector<int> next(static_cast<std::size_t>(table.ranks));
  constexpr weft::parallel::Costs costs;
  const int makespan = simulate(table, costs, micro_batches, ends, next);
  const int work = micro_batches * (table.stages / table.ranks) * costs.all();
  return 1.0 - static_cast<double>(work) / makespan;
}

}  // namespace detail

//! What the ranks of a pipeline do in some batches, once they run evenly.
template <class Type>
class PipelineRecord {
 public:
  static constexpr weft::index_t first = 5, last = 10;  //!< batches

  explicit PipelineRecord(Type& strategy) : strategy_(&strategy) {}

  void after_batch(weft::index_t number) {
    if (number == first) strategy_->record(&trace_);
    if (number == last) strategy_->record(nullptr);
  }

  //! What all ranks did. All of them call it.
  template <class Communicator>
  std::vector<weft::parallel::Trace> traces(Communicator& communicator) {
    strategy_->record(nullptr);
    return weft::parallel::gathered_traces(communicator, trace_);
  }

 private:
  Type* strategy_;
  weft::parallel::Trace trace_;
};

//! What is to be said of recorded traces.
inline std::string waiting_text(std::span<const weft::parallel::Trace> traces,
                                const weft::parallel::TableView& table, int micro_batches) {
  return weft::text("ranks waited ", weft::fixed(100 * weft::parallel::lost_share(traces), 1),
                    " % of the time in the batches that were recorded; stages that cost the same "
                    "lose ",
                    weft::fixed(100 * detail::lost_by_schedule(table, micro_batches), 1),
                    " % by this schedule");
}

}  // namespace language_model
