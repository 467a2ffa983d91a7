#include "cli/simulate_report.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/text.h"
#include "wire/json.h"

// The charting library (dygraphs, from its Debian package) is in the program; see CMakeLists.txt.
#define TESSERA_EMBED(symbol, file)                                          \
  asm(".section .rodata\n.global " #symbol "\n" #symbol ":\n.incbin \"" file \
      "\"\n"                                                                 \
      ".global " #symbol "_end\n" #symbol "_end:\n.byte 0\n.previous\n");    \
  extern "C" const char symbol[], symbol##_end[];
TESSERA_EMBED(tessera_dygraphs_script, TESSERA_DYGRAPHS "/dygraph.min.js")
TESSERA_EMBED(tessera_dygraphs_style, TESSERA_DYGRAPHS "/dygraph.min.css")

namespace tessera::cli {

namespace {

// More points than a screen has columns show nothing more.
constexpr size_t kPointLimit = 1500;

struct Chart {
  std::string title;
  std::vector<std::string> labels;
  Value::List rows;  // hours, then a value or null for each label
};

std::string escaped(std::string_view text) {
  std::string out = replace_all(text, "&", "&amp;");
  return replace_all(replace_all(out, "<", "&lt;"), ">", "&gt;");
}

// Every so-manieth sample of a run, the last one among them.
std::vector<const simulate::Sample*> thinned(const std::vector<simulate::Sample>& samples) {
  std::vector<const simulate::Sample*> out;
  size_t stride = samples.size() / kPointLimit + 1;
  for (size_t i = 0; i < samples.size(); i += stride) out.push_back(&samples[i]);
  if (!samples.empty() && out.back() != &samples.back()) out.push_back(&samples.back());
  return out;
}

// Adds the points of one line; dygraphs wants the rows of all lines in the order of time.
template <class Read>
void add_line(Chart& chart, const std::string& label, size_t column, size_t columns,
              const std::vector<simulate::Sample>& samples, Read read) {
  chart.labels.push_back(label);
  for (const simulate::Sample* sample : thinned(samples)) {
    Value::List row(columns + 1);
    row[0] = static_cast<double>(sample->at.value) / 3'600'000;
    row[column + 1] = read(*sample);
    chart.rows.emplace_back(std::move(row));
  }
}

void sort_rows(Chart& chart) {
  auto hours = [](const Value& row) { return std::get<double>((*row.list())[0].data); };
  std::stable_sort(chart.rows.begin(), chart.rows.end(),
                   [&](const Value& a, const Value& b) { return hours(a) < hours(b); });
}

template <class Read>
Chart chart_of(std::string title, const std::vector<Simulated>& runs, Read read) {
  Chart chart{.title = std::move(title)};
  for (size_t i = 0; i < runs.size(); ++i)
    add_line(chart, runs[i].policy, i, runs.size(), runs[i].outcome.samples,
             [&](const simulate::Sample& sample) { return read(runs[i].outcome, sample); });
  sort_rows(chart);
  return chart;
}

Chart projects_of(const Simulated& run) {
  Chart chart{.title = cat("Waiting jobs by project, ", run.policy)};
  const auto& projects = run.summary.by_project;
  for (size_t i = 0; i < projects.size(); ++i)
    add_line(chart, projects[i].group, i, projects.size(), run.outcome.samples,
             [&](const simulate::Sample& sample) {
               auto found = sample.waiting_of.find(projects[i].group);
               return Value(found == sample.waiting_of.end() ? int64_t{0} : found->second);
             });
  sort_rows(chart);
  return chart;
}

Value percent(int64_t part, int64_t whole) {
  return whole == 0 ? Value(0.0)
                    : Value(100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string script_of(const std::vector<Chart>& charts) {
  Value::List all;
  for (const Chart& chart : charts) {
    Value one;
    one.set("title", chart.title);
    Value::List labels = {Value("hours")};
    for (const std::string& label : chart.labels) labels.emplace_back(label);
    one.set("labels", std::move(labels));
    one.set("rows", chart.rows);
    all.push_back(std::move(one));
  }
  // "</script>" in a project's name must not end the script.
  std::string data = replace_all(wire::to_json(Value(std::move(all))), "</", "<\\/");
  return cat("const charts = ", data, R"(;
for (const chart of charts) {
  const place = document.createElement('div');
  document.getElementById('charts').append(place);
  new Dygraph(place, chart.rows, {labels: chart.labels, title: chart.title, xlabel: 'hours',
    stepPlot: true, connectSeparatedPoints: true, includeZero: true, legend: 'always', height: 320,
    width: Math.min(1100, window.innerWidth - 40)});
}
)");
}

}  // namespace

std::string simulation_report(const std::vector<Simulated>& runs, const std::string& table) {
  using simulate::Outcome, simulate::Sample;
  std::vector<Chart> charts = {
      chart_of("Accelerators in use, %", runs,
               [](const Outcome& outcome, const Sample& sample) {
                 return percent(sample.used.value, outcome.capacity.value);
               }),
      chart_of("Waiting jobs", runs,
               [](const Outcome&, const Sample& sample) { return Value(sample.waiting); }),
      chart_of("Idle accelerators of machines partly in use, %", runs,
               [](const Outcome& outcome, const Sample& sample) {
                 return percent(sample.fragmented * 1000, outcome.capacity.value);
               })};
  for (const Simulated& run : runs) charts.push_back(projects_of(run));
  std::string_view script(tessera_dygraphs_script, tessera_dygraphs_script_end);
  std::string_view style(tessera_dygraphs_style, tessera_dygraphs_style_end);
  return cat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>tessera simulate"
      "</title>\n<style>\n",
      style,
      "\nbody { font-family: sans-serif; margin: 20px } #charts > div { margin: 30px 0 }\n"
      "</style>\n<h1>tessera simulate</h1>\n<pre>",
      escaped(table), "</pre>\n<div id=\"charts\"></div>\n<script>\n", script,
      "\n</script>\n<script>\n", script_of(charts), "</script>\n</html>\n");
}

}  // namespace tessera::cli
