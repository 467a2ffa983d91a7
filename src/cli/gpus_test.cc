#include "cli/gpus.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/csv.h"

namespace tessera::cli {
namespace {

using What = GpuRequest::What;

GpuRequest count(int64_t milli) {
  return {.what = What::kCount, .count = {milli}};
}
GpuRequest devices(std::vector<std::string> names) {
  return {.what = What::kDevices, .devices = std::move(names)};
}

TEST(Gpus, A9_ValuesThatDockerTakes) {
  struct Case {
    std::string_view value;
    GpuRequest request;
  };
  GpuRequest nvidia_two = count(2000);
  nvidia_two.vendor = "nvidia";
  GpuRequest compute = count(1000);
  compute.capabilities = "compute,utility";
  const Case kCases[] = {
      {"1", count(1000)},
      {"2", count(2000)},
      {"0", {}},
      {"all", {.what = What::kAll}},
      {"-1", {.what = What::kAll}},
      {"count=all", {.what = What::kAll}},
      {"count=3", count(3000)},
      {"0.5", count(500)},
      {"1.5", count(1500)},
      {"driver=nvidia", {.what = What::kCount, .count = {1000}, .vendor = "nvidia"}},
      {"driver=nvidia,count=2", nvidia_two},
      {"2,driver=nvidia", nvidia_two},
      {"\"capabilities=compute,utility\"", compute},
      {"device=0", devices({"0"})},
      {"\"device=0,1\"", devices({"0", "1"})},
      {"device=0,1", devices({"0", "1"})},
      {"device=0,1,2,7", devices({"0", "1", "2", "7"})},
      {"device=GPU-aa,GPU-bb", devices({"GPU-aa", "GPU-bb"})},
      {"device=all", {.what = What::kAll}},
      {"\"device=2,3\",driver=nvidia",
       {.what = What::kDevices, .devices = {"2", "3"}, .vendor = "nvidia"}},
  };
  for (const Case& c : kCases) {
    auto request = parse_gpus(c.value);
    ASSERT_TRUE(request.ok()) << c.value << ": " << request.error().text();
    EXPECT_EQ(*request, c.request) << c.value;
  }
}

TEST(Gpus, A9_ValuesThatAreRefusedSayWhy) {
  struct Case {
    std::string_view value;
    std::string_view sentence;
  };
  const Case kCases[] = {
      {"", "the value is empty"},
      {"0,1,2,7",
       "'0,1,2,7' is neither a count nor a list of devices (did you mean device=0,1,2,7?)"},
      {"0,0", "gpu request key '0' can be specified only once"},
      {"count=1,count=2", "gpu request key 'count' can be specified only once"},
      {"1,count=2", "gpu request key 'count' can be specified only once"},
      {"device=0,device=1", "gpu request key 'device' can be specified only once"},
      {"some",
       "invalid count (some): value must be either \"all\" or a number (like 2, 0.5 or "
       "all; devices are named with device=0,1)"},
      {"500m",
       "invalid count (500m): value must be either \"all\" or a number (like 2, 0.5 or "
       "all; devices are named with device=0,1)"},
      {"-2",
       "invalid count (-2): value must be either \"all\" or a number (like 2, 0.5 or all; "
       "devices are named with device=0,1)"},
      {"gpu=1", "unexpected key 'gpu' in 'gpu=1' (keys are driver, count, device, capabilities)"},
      {" device=0",
       "unexpected key ' device' in ' device=0' (keys are driver, count, device, "
       "capabilities)"},
      {"count=1,device=0",
       "cannot set both Count and DeviceIDs on device request (give either a "
       "count or device=…)"},
      {"capabilities=compute,utility",
       "invalid count (utility): value must be either \"all\" or a number (like 2, 0.5 or all; "
       "devices are named with device=0,1)"},
      {"device=0,all", "device=all stands alone, without other devices"},
      {"device=", "a device in device=… has no name"},
      {"\"device=0,0\"", "device '0' is named twice"},
      {"driver=nvdia", "unknown driver 'nvdia' (there are nvidia, amd, ascend, tpu, intel, sim)"},
      {"options=a", "options=… is not offered: no driver of Tessera takes options"},
      {"\"device=0,1", "a quote is not closed in \"device=0,1"},
      {"device=\"0,1\"", "a quote stands in the middle of a value in device=\"0,1\""},
  };
  for (const Case& c : kCases) {
    auto request = parse_gpus(c.value);
    ASSERT_FALSE(request.ok()) << c.value;
    EXPECT_EQ(request.error().text(), c.sentence);
  }
}

TEST(Gpus, TheOlderWayByEnvironment) {
  EXPECT_EQ(parse_visible_devices("none")->what, What::kNone);
  EXPECT_EQ(parse_visible_devices("void")->what, What::kNone);
  EXPECT_EQ(parse_visible_devices("")->what, What::kNone);
  EXPECT_EQ(parse_visible_devices("all")->what, What::kAll);
  EXPECT_EQ(parse_visible_devices("0,GPU-a")->devices, (std::vector<std::string>{"0", "GPU-a"}));
  EXPECT_FALSE(parse_visible_devices("0,,1").ok());
}

TEST(Csv, RecordsAsGoReadsThem) {
  using Fields = std::vector<std::string>;
  EXPECT_EQ(*parse_csv_record("a"), (Fields{"a"}));
  EXPECT_EQ(*parse_csv_record("a,b"), (Fields{"a", "b"}));
  EXPECT_EQ(*parse_csv_record("a,,"), (Fields{"a", "", ""}));
  EXPECT_EQ(*parse_csv_record("\"a,b\",c"), (Fields{"a,b", "c"}));
  EXPECT_EQ(*parse_csv_record("\"say \"\"hi\"\"\""), (Fields{"say \"hi\""}));
  EXPECT_EQ(*parse_csv_record("c,\"\""), (Fields{"c", ""}));
  for (std::string_view bad : {"", "a\nb", "\"a", "\"a\"b", "a\"b"})
    EXPECT_FALSE(parse_csv_record(bad).ok()) << bad;
}

}  // namespace
}  // namespace tessera::cli
