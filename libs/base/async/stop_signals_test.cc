#include "libs/base/async/stop_signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "libs/base/testing/little_address_space.h"

namespace weft {
namespace {

void SignalThisProcess(int signal) { ASSERT_EQ(kill(getpid(), signal), 0); }

// Each test runs in its own process. A signal is sent to the whole process, so
// no thread of it may have the signal unblocked.
class StopSignalsTest : public testing::Test {
 protected:
  StopSignalsTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

class EachStopSignalTest : public StopSignalsTest,
                           public testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Signals, EachStopSignalTest,
                         testing::Values(SIGINT, SIGTERM));

[[noreturn]] void WaitsForOne(int signal) {
  StopSignals signals(absl::Hours(1));
  if (signals.HasCome()) _exit(1);
  SignalThisProcess(signal);
  // HasCome must be true even if the thread has not taken the signal yet.
  if (!signals.HasCome()) _exit(2);
  signals.Wait();
  signals.Wait();
  if (!signals.HasCome()) _exit(3);
  // SIGINT and SIGTERM count as the same request.
  SignalThisProcess(SIGINT);
  SignalThisProcess(SIGTERM);
  _exit(0);
}

TEST_P(EachStopSignalTest, FirstSignalRequestsStop) {
  EXPECT_EXIT(WaitsForOne(GetParam()), testing::ExitedWithCode(0), "");
}

[[noreturn]] void GetsOneAfterTheOther(int signal) {
  StopSignals signals(absl::Milliseconds(1));
  std::thread busy([] { pause(); });
  SignalThisProcess(SIGINT);
  signals.Wait();
  while (true) SignalThisProcess(signal);
}

TEST_P(EachStopSignalTest, SecondSignalEndsABusyProcess) {
  EXPECT_EXIT(GetsOneAfterTheOther(GetParam()),
              testing::KilledBySignal(GetParam()), "");
}

[[noreturn]] void IsAskedByItself() {
  StopSignals signals(absl::ZeroDuration());
  std::thread other([&] { signals.Raise(); });
  signals.Wait();
  other.join();
  if (!signals.HasCome()) _exit(1);
  while (true) SignalThisProcess(SIGTERM);
}

TEST_F(StopSignalsTest, SignalAfterRaiseEndsTheProcess) {
  EXPECT_EXIT(IsAskedByItself(), testing::KilledBySignal(SIGTERM), "");
}

[[noreturn]] void BeginsAnew() {
  { const StopSignals none; }
  {
    StopSignals signals;
    SignalThisProcess(SIGTERM);
    signals.Wait();
  }
  const StopSignals again;
  _exit(again.HasCome() ? 1 : 0);
}

TEST_F(StopSignalsTest, TakenSignalIsNotDeliveredAgain) {
  EXPECT_EXIT(BeginsAnew(), testing::ExitedWithCode(0), "");
}

[[noreturn]] void IsEndedWithoutThread() {
  if (!LimitAddressSpace()) _exit(1);
  const StopSignals signals;
  SignalThisProcess(SIGTERM);
  _exit(2);
}

TEST_F(StopSignalsTest, ProcessThatCannotStartThreadsEndsBySignal) {
  EXPECT_EXIT(IsEndedWithoutThread(), testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace weft
