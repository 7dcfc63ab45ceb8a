// Removal of attrs that only a newer program knows from the graphs that it
// wrote. Attrs that were added to an op later can be removed if they have their
// default value. A GraphDef does not contain defaults, but a MetaGraphDef
// contains the op definitions of its writer.
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

// Removes attrs from the nodes of `graph` and of its functions. An attr is
// removed if `registry` does not know it for the node's op and if its value is
// the default in `producer`, the ops of the writer. Other attrs stay. The
// import ignores those that `registry` does not know.
void DropNewDefaults(const tf::OpList& producer, const OpRegistry& registry,
                     tf::GraphDef& graph);

// Removes from the nodes of `graph` and of its functions each attr whose value
// is the default in `ops`. A reader that does not know a newer attr then does
// not need to.
void StripDefaultAttrs(const tf::OpList& ops, tf::GraphDef& graph);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_IMPORT_PRODUCER_DEFAULTS_H_
