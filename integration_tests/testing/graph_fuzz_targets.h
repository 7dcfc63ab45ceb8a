// What the fuzzers of graphs and the replay of their corpora run: a GraphDef
// from anywhere is imported, with all shape functions, and exported; a session
// of a task with little memory takes it and runs its last nodes, and all at
// once. Whatever the graph is, that ends, with values or errors.
//
// A node with an attribute "_value" is fed: its output 0 is that tensor. So a
// kernel gets what its shape function has not seen.
//
// Threads: those of a Process that lives as long as the program.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_FUZZ_TARGETS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_FUZZ_TARGETS_H_

#include "absl/strings/string_view.h"

namespace weft {

void FuzzGraphDef(absl::string_view bytes);
// A FunctionDef is read, written as it came, called, with what it calls, and
// made a graph's function again.
void FuzzFunctionDef(absl::string_view bytes);
// Of its text form.
void FuzzGraphText(absl::string_view text);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_FUZZ_TARGETS_H_
