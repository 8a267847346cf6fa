// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file A run on one page: curves, memory, schedule, samples, the command.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/core/fixed.hpp>
#include <weft/core/index.hpp>
#include <weft/core/text.hpp>
#include <weft/io/markup.hpp>
#include <weft/train/line_chart.hpp>
#include <weft/train/memory_use.hpp>

namespace weft::train {

//! A sentence, what it should become, and what the model made of it.
struct SampleTranslation {
  std::string source;       //!< a line of the corpus
  std::string reference;    //!< the line beside it
  std::string translation;  //!< the model's
};

//! What is shown of a run; what is empty is left out.
struct Report {
  std::string title{};                                       //!< the page's heading
  std::string command{};                                     //!< as it was typed
  std::vector<std::pair<std::string, std::string>> facts{};  //!< name and value
  std::vector<LineChart> charts{};                           //!< in the order of the page
  std::vector<MemoryUse> memory{};                           //!< a device each
  std::string schedule{};                                    //!< an SVG
  std::string schedule_caption{};                            //!< what it shows
  std::vector<SampleTranslation> samples{};                  //!< the last table
};

namespace detail {

inline constexpr std::string_view report_style = R"(
:root{color-scheme:light dark;--page:#fbfaf8;--ink:#1d1d1f;--quiet:#63636b;--line:#dcdad5;
--panel:#fff;--c0:#2563b8;--c1:#c2501f;--c2:#2e7d46;--c3:#8a4fb0;--c4:#8d8d93;--c5:#b58a17}
@media(prefers-color-scheme:dark){:root{--page:#16171a;--ink:#ececee;--quiet:#a2a3ab;--line:#34363c;
--panel:#1e2024;--c0:#76aaf0;--c1:#f0966a;--c2:#74c48c;--c3:#c69be6;--c4:#83858d;--c5:#e3c25a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:24px 16px 48px;background:var(--page);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .75rem}
h2{font-size:1.1rem;margin:2rem 0 .75rem}
h3{font-size:.95rem;margin:0 0 .25rem}
pre,.scroll{background:var(--panel);border:1px solid var(--line);border-radius:6px;padding:10px 12px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem;margin:0}
.scroll{overflow-x:auto}.scroll svg{display:block}.scroll text{fill:#1d1d1f}.scroll{background:#fff}
dl{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:12px;margin:0 0 1rem}
dt{color:var(--quiet);font-size:.85rem}dd{margin:0;font-variant-numeric:tabular-nums}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));gap:16px}
figure{margin:0;padding:12px;background:var(--panel);border:1px solid var(--line);border-radius:6px}
.chart{display:block;width:100%;height:auto}
.grid{stroke:var(--line);fill:none}.label{fill:var(--quiet);font:11px system-ui,sans-serif}
.curve{fill:none;stroke-width:1.8;stroke-linejoin:round}
.c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}
.dot{stroke-width:3}
.legend{color:var(--quiet);font-size:.85rem;margin:.25rem 0 0}
.legend span{white-space:nowrap;margin-right:12px}
.legend i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}
.b0{background:var(--c0)}.b1{background:var(--c1)}.b2{background:var(--c2)}.b3{background:var(--c3)}
.b4{background:var(--c4)}.b5{background:var(--c5)}
.bar{display:flex;height:20px;border-radius:4px;overflow:hidden;margin:4px 0 12px}
.name{color:var(--quiet);font-size:.85rem}
.sample{border-top:1px solid var(--line);padding:10px 0;display:grid;grid-template-columns:7.5em 1fr;
gap:2px 12px;overflow-wrap:anywhere}
.sample span:nth-child(odd){color:var(--quiet);font-size:.85rem}
@media(max-width:520px){.sample{grid-template-columns:1fr}}
footer{margin-top:2.5rem;color:var(--quiet);font-size:.85rem}
)";

//! Names behind squares in the colours of a bar or of curves.
[[nodiscard]] inline std::string legend(const std::vector<std::string>& names) {
  std::string out = "<p class=\"legend\">";
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += text("<span><i class=\"b", i, "\"></i>", io::escape_markup(names[i]), "</span> ");
  }
  return out + "</p>\n";
}

[[nodiscard]] inline std::string html(const LineChart& chart) {
  std::vector<std::string> names;
  for (const Curve& curve : chart.curves) {
    const auto& points = curve.points;
    names.push_back(curve.name + (points.empty() ? "" : " " + short_number(points.back().second)));
  }
  return text("<figure><h3>", io::escape_markup(chart.title), "</h3>\n", svg(chart), legend(names),
              "</figure>\n");
}

//! "12.3 MB"
[[nodiscard]] inline std::string megabytes(index_t bytes) {
  return fixed(static_cast<double>(bytes) * 1e-6, 1) + " MB";
}

//! A bar for each device, in one scale.
[[nodiscard]] inline std::string html(const std::vector<MemoryUse>& devices) {
  std::string out = "<h2>Memory</h2>\n";
  index_t most = 1;
  for (const MemoryUse& device : devices) most = std::max({most, device.held, device.used()});
  for (const MemoryUse& device : devices) {
    std::vector<std::pair<const char*, index_t>> parts{{"parameters", device.parameters},
                                                       {"gradients", device.gradients},
                                                       {"optimizer", device.optimizer},
                                                       {"activations at most", device.activations},
                                                       {"free in the pool", device.unused()}};
    if (device.pages > 0) parts.emplace_back("parts of parameters and gradients", device.pages);
    std::string bar;
    std::vector<std::string> names;
    for (const auto& [name, bytes] : parts) {
      bar += text("<span class=\"b", names.size(), "\" style=\"width:",
                  fixed(100.0 * static_cast<double>(bytes) / static_cast<double>(most), 2),
                  "%\"></span>");
      names.push_back(text(name, " ", megabytes(bytes)));
    }
    out +=
        text("<div class=\"name\">", io::escape_markup(device.device), ", ", megabytes(device.held),
             " taken from the system</div><div class=\"bar\">", bar, "</div>", legend(names));
  }
  return out;
}

}  // namespace detail

//! The page: one file that needs no other, readable on a phone, light or dark as the reader has it.
[[nodiscard]] inline std::string to_html(const Report& report) {
  using io::escape_markup;
  std::string out = text(
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n<title>",
      escape_markup(report.title), "</title>\n<style>", detail::report_style, "</style>\n<h1>",
      escape_markup(report.title), "</h1>\n");
  if (!report.facts.empty()) {
    out += "<dl>\n";
    for (const auto& [name, value] : report.facts) {
      out += text("<div><dt>", escape_markup(name), "</dt><dd>", escape_markup(value),
                  "</dd></div>\n");
    }
    out += "</dl>\n";
  }
  if (!report.command.empty()) out += text("<pre>", escape_markup(report.command), "</pre>\n");
  if (!report.charts.empty()) {
    out += "<h2>Curves</h2>\n<div class=\"charts\">\n";
    for (const LineChart& chart : report.charts) out += detail::html(chart);
    out += "</div>\n";
  }
  if (!report.memory.empty()) out += detail::html(report.memory);
  if (!report.schedule.empty()) {
    out += text("<h2>The schedule as it ran</h2>\n<div class=\"scroll\">", report.schedule,
                "</div>\n<p class=\"legend\">", escape_markup(report.schedule_caption), "</p>\n");
  }
  if (!report.samples.empty()) {
    out += "<h2>Translations</h2>\n";
    for (const auto& [source, reference, translation] : report.samples) {
      out += text("<div class=\"sample\"><span>source</span><span>", escape_markup(source),
                  "</span><span>reference</span><span>", escape_markup(reference),
                  "</span><span>translation</span><span>", escape_markup(translation),
                  "</span></div>\n");
    }
  }
  return out + "<footer>Written by weft.</footer>\n</html>\n";
}

}  // namespace weft::train
