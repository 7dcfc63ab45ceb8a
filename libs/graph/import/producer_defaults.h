// Removal of new attrs from the graphs of a newer writer: attrs that were added
// to ops later and have their default value can be dropped. A GraphDef does not
// contain defaults; a MetaGraphDef contains the op definitions of its writer.
//
// Functions without state. They correspond to TensorFlow's
// RemoveNewDefaultAttrsFromGraphDef and its strip_default_attrs.
#ifndef WEFT_LIBS_GRAPH_IMPORT_PRODUCER_DEFAULTS_H_
#define WEFT_LIBS_GRAPH_IMPORT_PRODUCER_DEFAULTS_H_

#include "libs/graph/op_def.h"

namespace weft {

namespace tf {
class GraphDef;
class OpList;
}  // namespace tf

// Removes from the nodes of `graph` and of its functions each attr that
// `registry` does not know for the node's op and that is the default of
// `producer`, the ops of the writer. Other attrs stay; the import ignores those
// that `registry` does not know.
void DropNewDefaults(const tf::OpList& producer, const OpRegistry& registry,
                     tf::GraphDef& graph);

// Removes from them each attr that is the default of `ops`, so that a reader
// that does not know a newer attr does not need it.
void StripDefaultAttrs(const tf::OpList& ops, tf::GraphDef& graph);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_PRODUCER_DEFAULTS_H_
