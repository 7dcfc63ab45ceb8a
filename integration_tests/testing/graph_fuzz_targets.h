// The targets of the graph fuzzers, also used to replay their corpora. An
// untrusted GraphDef is imported, with all shape functions, and exported. A
// session of a task with little memory adds the graph, and runs its last nodes,
// one by one and then together. For any graph this must end, with values or
// errors.
//
// If a node has an attribute "_value", that tensor is fed as output 0 of the
// node. So kernels get shapes that their shape functions have not seen.
//
// Threads: those of a Process that lives until the program ends.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_FUZZ_TARGETS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_FUZZ_TARGETS_H_

#include "absl/strings/string_view.h"

namespace weft {

void FuzzGraphDef(absl::string_view bytes);
// Parses a FunctionDef and writes it unchanged. Calls the function, with the
// functions that it calls, and converts the resulting graph to a function
// again.
void FuzzFunctionDef(absl::string_view bytes);
// Fuzzes a GraphDef in text form.
void FuzzGraphText(absl::string_view text);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_FUZZ_TARGETS_H_
