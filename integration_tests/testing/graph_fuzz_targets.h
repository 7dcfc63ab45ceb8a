// Targets of the graph fuzzers and of the replay of their corpora: an untrusted
// GraphDef is imported, with all shape functions, and exported; a session of a
// task with little memory adds it and runs its last nodes, and all at once. For
// any graph this must end, with values or errors.
//
// A node with an attribute "_value" is fed: its output 0 is that tensor. So
// kernels get shapes that their shape functions have not seen.
//
// Threads: those of a Process that lives until the program ends.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_FUZZ_TARGETS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_FUZZ_TARGETS_H_

#include "absl/strings/string_view.h"

namespace weft {

void FuzzGraphDef(absl::string_view bytes);
// Parses a FunctionDef, writes it unchanged, calls it with its callees, and
// converts the graph to a function again.
void FuzzFunctionDef(absl::string_view bytes);
// Fuzzes the text form.
void FuzzGraphText(absl::string_view text);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_FUZZ_TARGETS_H_
