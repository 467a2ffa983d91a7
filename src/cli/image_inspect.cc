// image inspect: what images say of themselves, as docker inspect prints it.

#include "base/text.h"
#include "cli/commands.h"
#include "wire/json.h"

namespace tessera::cli {

namespace {

namespace routes = api::routes;

// As docker: those that are there are printed, and the others told.
Result<int> inspect(Context& context, const Args& args) {
  Value::List found;
  Status missing = Ok;
  for (const std::string& reference : args.operands) {
    auto details = context.client.call(routes::kInspectImage, {}, {.reference = reference});
    if (details.ok())
      found.push_back(schema::encode(*details));
    else if (missing.ok())
      missing = details.error();
  }
  context.console.print(cat(wire::to_json(Value(std::move(found)), 2), "\n"));
  TRY_STATUS(std::move(missing));
  return 0;
}

}  // namespace

Command image_inspect_command() {
  return {.name = "image inspect",
          .operands = "IMAGE…",
          .doc = std::string(routes::kInspectImage.doc),
          .details = "Prints JSON, a list with one entry for each image.",
          .run = inspect,
          .least = 1,
          .most = kAnyNumber,
          .completes = "image"};
}

}  // namespace tessera::cli
