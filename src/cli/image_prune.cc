// image prune: removes what nobody uses.

#include "base/bytes.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/flag_values.h"
#include "cli/schema_doc.h"
#include "cli/table.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

// Long enough that last week's work finds its image here.
constexpr std::string_view kUnusedFor = "168h";
// containerd deletes the files of many large layers before it answers.
constexpr Millis kPruneLimit{600'000};

Result<int> prune(Context& context, const Args& args) {
  if (args.has("all") && args.has("unused-for"))
    return at_flag("all", error(Code::kInvalid,
                                "asks for images of any age, and --unused-for "
                                "for old ones",
                                {}, "leave one of them out"));
  api::PruneRequest request{.dryRun = args.has("dry-run")};
  auto unused_for = parse_duration(args.text("unused-for", kUnusedFor));
  if (!unused_for.ok()) return at_flag("unused-for", std::move(unused_for).error());
  if (!args.has("all")) request.unusedFor = *unused_for;
  TRY(api::PruneResult pruned,
      context.client.call(routes::kPruneImages, {}, {}, request, {.deadline = kPruneLimit}));
  Table table{.headers = {"IMAGE", "LAST USED", "SIZE"}};
  for (const api::Image& image : pruned.images)
    table.rows.push_back({image.reference, cat(long_age(wall_now() - image.lastUsed), " ago"),
                          byte_size(image.sizeBytes)});
  if (!table.rows.empty()) context.console.print(table.text());
  std::string_view verb = request.dryRun ? "would free " : "freed ";
  context.console.print(cat(verb, byte_size(pruned.freedBytes), "\n"));
  return 0;
}

}  // namespace

Command image_prune_command() {
  const schema::Type& type = schema::describe<api::PruneRequest>();
  return {
      .name = "image prune",
      .operands = "",
      .doc = std::string(routes::kPruneImages.doc),
      .details =
          "Without flags, those that were not used for a week (168h).\nAn image that a container "
          "or a waiting job has is never removed. What a name no longer means is not kept in "
          "the first place, so there are no dangling images.",
      .flags = {{"unused-for", 0, "DURATION", "How long they were not used (168h).", {}},
                {"all", 'a', "", "All that are in no use now, however new.", {}},
                {"dry-run", 0, "", schema_doc(type, "dryRun"), {}}},
      .run = prune};
}

}  // namespace tessera::cli
