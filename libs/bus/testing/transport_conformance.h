// TransportConformanceTest checks the contract of a Transport over any Wire;
// the test of each Wire instantiates it with a factory of harnesses.
#ifndef WEFT_LIBS_BUS_TESTING_TRANSPORT_CONFORMANCE_H_
#define WEFT_LIBS_BUS_TESTING_TRANSPORT_CONFORMANCE_H_

#include "libs/bus/testing/transport_calls.h"          // IWYU pragma: export
#include "libs/bus/testing/transport_connections.h"    // IWYU pragma: export
#include "libs/bus/testing/transport_fixture.h"        // IWYU pragma: export
#include "libs/bus/testing/transport_heartbeats.h"     // IWYU pragma: export
#include "libs/bus/testing/transport_hostile_peers.h"  // IWYU pragma: export
#include "libs/bus/testing/transport_streams.h"        // IWYU pragma: export

#endif  // WEFT_LIBS_BUS_TESTING_TRANSPORT_CONFORMANCE_H_
