// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Boxes for what ranks do, a row for each, time to the right.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include <weft/core/text.hpp>
#include <weft/parallel/schedule/action.hpp>

namespace weft::parallel {

//! An action of a rank, from `begin` to `end` in pixels.
struct ActionBox {
  Action action;  //!< what is done
  int rank;       //!< who does it: the row
  int begin;      //!< in pixels from the row's left
  int end;        //!< in pixels, behind the last
};

//! Forward is blue, backward green, weight gradients orange; each box has its micro-batch if there
//! is room for it, and the darker it is the later the rank's stage. It can be read on white and on
//! black.
[[nodiscard]] inline std::string draw_actions(std::span<const ActionBox> boxes, int ranks,
                                              int stages) {
  constexpr int height = 26, left = 60, top = 8, narrowest_with_text = 14;
  int width = 0;
  for (const ActionBox& box : boxes) width = std::max(width, box.end);
  const int page_width = left + width + top, page_height = 2 * top + ranks * height;
  std::string out = text("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", page_width,
                         "\" height=\"", page_height, "\" viewBox=\"0 0 ", page_width, " ",
                         page_height, "\" font-family=\"sans-serif\" font-size=\"11\">\n");
  const char* const colours[] = {"rgb(155,190,235)", "rgb(150,210,160)", "rgb(245,195,120)"};
  for (int rank = 0; rank < ranks; ++rank) {
    const int y = top + rank * height;
    out += text("<text x=\"4\" y=\"", y + 17, "\" fill=\"gray\">rank ", rank, "</text>\n");
    for (const ActionBox& box : boxes) {
      if (box.rank != rank) continue;
      const Action action = box.action;
      const int percent = 100 - 40 * (action.stage() / ranks) / (stages / ranks);
      out += text("<g style=\"filter:brightness(", percent, "%)\"><rect x=\"", left + box.begin,
                  "\" y=\"", y, "\" width=\"", std::max(box.end - box.begin - 1, 1), "\" height=\"",
                  height - 3, "\" fill=\"", colours[static_cast<int>(action.work())], "\"><title>",
                  to_text(action), "</title></rect>");
      if (box.end - box.begin >= narrowest_with_text) {
        out += text("<text x=\"", left + (box.begin + box.end) / 2, "\" y=\"", y + 17,
                    "\" text-anchor=\"middle\">", action.micro_batch(), "</text>");
      }
      out += "</g>\n";
    }
  }
  return out + "</svg>\n";
}

}  // namespace weft::parallel
