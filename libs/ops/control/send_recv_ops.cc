// Ops that Weft inserts into a partition: its ends, and its edges to other
// partitions. Names are TensorFlow's; an edge has a number instead of
// TensorFlow's rendezvous key.
#include "libs/graph/inference_context.h"
#include "libs/ops/control/op_groups.h"

namespace weft {

void RegisterSendRecvOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("_Arg")
                   .Output("output: T")
                   .Attr("T: type")
                   .Attr("index: int >= 0")
                   .Stateful()
                   .Doc("Returns an argument of the step.")
                   .Shape(shapes::Unknown));
  registry.Add(OpDefBuilder("_Retval")
                   .Input("input: T")
                   .Attr("T: type")
                   .Attr("index: int >= 0")
                   .Stateful()
                   .Doc("Sets a result of the step.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("_Send")
                   .Input("tensor: T")
                   .Attr("T: type")
                   .Attr("edge: int")
                   .Attr("tensor_name: string")
                   .Attr("send_device: string")
                   .Attr("recv_device: string")
                   .Stateful()
                   .Doc("Sends a tensor to another partition of the step.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("_Recv")
                   .Output("tensor: T")
                   .Attr("T: type")
                   .Attr("edge: int")
                   .Attr("tensor_name: string")
                   .Attr("send_device: string")
                   .Attr("recv_device: string")
                   .Stateful()
                   .Doc("Receives a tensor from another partition of the step.")
                   .Shape(shapes::Unknown));
  for (const char* op : {"_CopyToDevice", "_CopyToHost"}) {
    registry.Add(
        OpDefBuilder(op)
            .Input("input: T")
            .Output("output: T")
            .Attr("T: type")
            .Doc("Copies a value between a device's memory and the host's.")
            .Shape(shapes::Unchanged));
  }
}

}  // namespace weft
