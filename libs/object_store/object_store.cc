#include "libs/object_store/object_store.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// The maximum number of consecutive empty pages. A service may send some empty
// pages before its results.
constexpr int kMaxEmptyPages = 1000;

}  // namespace

absl::Status ForEachPage(
    const std::string& list_name,
    absl::FunctionRef<absl::StatusOr<ObjectList>(const std::string& from)> list,
    absl::FunctionRef<bool(const ObjectList& page)> visit) {
  absl::flat_hash_set<std::string> begun;
  std::string from;
  int empty_pages = 0;
  do {
    ASSIGN_OR_RETURN(const ObjectList page, list(from));
    if (!visit(page)) return absl::OkStatus();
    const bool is_empty = page.keys.empty() && page.prefixes.empty();
    empty_pages = is_empty ? empty_pages + 1 : 0;
    if (empty_pages == kMaxEmptyPages) {
      return absl::InternalError(
          absl::StrCat("the list of ", list_name, " has ", empty_pages,
                       " empty pages in a row, and does not end"));
    }
    from = page.next;
    if (!from.empty() && !begun.insert(from).second) {
      return absl::InternalError(
          absl::StrCat("the list of ", list_name,
                       " continues with a page that was already listed"));
    }
  } while (!from.empty());
  return absl::OkStatus();
}

absl::Status ForEachPage(
    ObjectStore& store, const std::string& bucket, const std::string& prefix,
    int keys_a_page, absl::FunctionRef<bool(const ObjectList& page)> visit) {
  return ForEachPage(
      absl::StrCat(prefix, " in ", bucket),
      [&](const std::string& from) {
        return store.List(bucket, prefix, keys_a_page, from);
      },
      visit);
}

}  // namespace weft
