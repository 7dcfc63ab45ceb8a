// Attrs that ops have got since, in the graphs of a newer writer: those that
// hold their default ask for nothing, and go. A GraphDef does not say which do;
// a MetaGraphDef brings the op definitions of its writer, who knows.
//
// Functions without state. As TensorFlow's RemoveNewDefaultAttrsFromGraphDef
// and its strip_default_attrs.
#ifndef WEFT_LIBS_GRAPH_PRODUCER_DEFAULTS_H_
#define WEFT_LIBS_GRAPH_PRODUCER_DEFAULTS_H_

#include "libs/graph/op_def.h"

namespace weft {

namespace tf {
class GraphDef;
class OpList;
}  // namespace tf

// Takes from the nodes of `graph` and of its functions each attr that
// `registry` does not know of the node's op and that is the default of
// `producer`, the ops of the writer. Other attrs stay; the import ignores those
// that `registry` does not know.
void DropNewDefaults(const tf::OpList& producer, const OpRegistry& registry,
                     tf::GraphDef& graph);

// Takes from them each attr that is the default of `ops`, so that a reader who
// does not know a newer attr has no need to.
void StripDefaultAttrs(const tf::OpList& ops, tf::GraphDef& graph);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_PRODUCER_DEFAULTS_H_
