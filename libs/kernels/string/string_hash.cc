#include "libs/kernels/string/string_hash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little,
              "bytes are loaded as little-endian numbers");

uint64_t Load64(const char* p) {
  uint64_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

uint64_t Load32(const char* p) {
  uint32_t value;
  std::memcpy(&value, p, sizeof(value));
  return value;
}

uint64_t ByteAt(absl::string_view bytes, size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

// Less than 8 bytes as a number.
uint64_t LoadTail(absl::string_view tail) {
  uint64_t value = 0;
  std::memcpy(&value, tail.data(), tail.size());
  return value;
}

// ---- FarmHash, its 64-bit variant "na" ----

constexpr uint64_t kFarm0 = 0xc3a5c85c97cb3127u;
constexpr uint64_t kFarm1 = 0xb492b66fbe98f273u;
constexpr uint64_t kFarm2 = 0x9ae16a3b2f90404fu;

uint64_t Mix(uint64_t value) { return value ^ (value >> 47); }

uint64_t Join(uint64_t u, uint64_t v, uint64_t factor) {
  const uint64_t a = Mix((u ^ v) * factor);
  return Mix((v ^ a) * factor) * factor;
}

uint64_t FarmUpTo16(absl::string_view s) {
  const size_t n = s.size();
  const uint64_t factor = kFarm2 + n * 2;
  if (n >= 8) {
    const uint64_t a = Load64(s.data()) + kFarm2;
    const uint64_t b = Load64(s.data() + n - 8);
    return Join(std::rotr(b, 37) * factor + a, (std::rotr(a, 25) + b) * factor,
                factor);
  }
  if (n >= 4) {
    return Join(n + (Load32(s.data()) << 3), Load32(s.data() + n - 4), factor);
  }
  if (n == 0) return kFarm2;
  const uint64_t y = ByteAt(s, 0) + (ByteAt(s, n / 2) << 8);
  const uint64_t z = n + (ByteAt(s, n - 1) << 2);
  return Mix(y * kFarm2 ^ z * kFarm0) * kFarm2;
}

uint64_t FarmUpTo32(absl::string_view s) {
  const char* const end = s.data() + s.size();
  const uint64_t factor = kFarm2 + s.size() * 2;
  const uint64_t a = Load64(s.data()) * kFarm1;
  const uint64_t b = Load64(s.data() + 8);
  const uint64_t c = Load64(end - 8) * factor;
  const uint64_t d = Load64(end - 16) * kFarm2;
  return Join(std::rotr(a + b, 43) + std::rotr(c, 30) + d,
              a + std::rotr(b + kFarm2, 18) + c, factor);
}

uint64_t FarmUpTo64(absl::string_view s) {
  const char* const begin = s.data();
  const char* const end = begin + s.size();
  const uint64_t factor = kFarm2 + s.size() * 2;
  const uint64_t a = Load64(begin) * kFarm2;
  const uint64_t b = Load64(begin + 8);
  const uint64_t c = Load64(end - 8) * factor;
  const uint64_t d = Load64(end - 16) * kFarm2;
  const uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const uint64_t z = Join(y, a + std::rotr(b + kFarm2, 18) + c, factor);
  const uint64_t e = Load64(begin + 16) * factor;
  const uint64_t f = Load64(begin + 24);
  const uint64_t g = (y + Load64(end - 32)) * factor;
  const uint64_t h = (z + Load64(end - 24)) * factor;
  return Join(std::rotr(e + f, 43) + std::rotr(g, 30) + h,
              e + std::rotr(f + a, 18) + g, factor);
}

using Pair = std::pair<uint64_t, uint64_t>;

Pair HashOf32(const char* p, uint64_t a, uint64_t b) {
  const uint64_t z = Load64(p + 24);
  a += Load64(p);
  b = std::rotr(b + a + z, 21);
  const uint64_t c = a;
  a += Load64(p + 8) + Load64(p + 16);
  return {a + z, b + std::rotr(a, 44) + c};
}

// The state of a long string's hash between blocks of 64 bytes.
struct FarmState {
  uint64_t x = 81;
  uint64_t y = 81 * kFarm1 + 113;
  uint64_t z = Mix((81 * kFarm1 + 113) * kFarm2 + 113) * kFarm2;
  Pair v = {0, 0}, w = {0, 0};

  // `weight` is 1, or 9 for the last block, which may overlap others.
  void Add(const char* p, uint64_t factor, uint64_t weight) {
    x = std::rotr(x + y + v.first + Load64(p + 8), 37) * factor;
    y = std::rotr(y + v.second + Load64(p + 48), 42) * factor;
    x ^= w.second * weight;
    y += v.first * weight + Load64(p + 40);
    z = std::rotr(z + w.first, 33) * factor;
    v = HashOf32(p, v.second * factor, x + w.first);
    w = HashOf32(p + 32, z + w.second, y + Load64(p + 16));
    std::swap(z, x);
  }
};

uint64_t FarmLong(absl::string_view s) {
  FarmState state;
  state.x = state.x * kFarm2 + Load64(s.data());
  const size_t rest = (s.size() - 1) & 63;
  const char* const end = s.data() + (s.size() - 1 - rest);
  for (const char* p = s.data(); p != end; p += 64) state.Add(p, kFarm1, 1);
  const uint64_t factor = kFarm1 + ((state.z & 0xff) << 1);
  state.w.first += rest;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.Add(s.data() + s.size() - 64, factor, 9);
  return Join(Join(state.v.first, state.w.first, factor) +
                  Mix(state.y) * kFarm0 + state.z,
              Join(state.v.second, state.w.second, factor) + state.x, factor);
}

// ---- SipHash ----

struct SipState {
  uint64_t v0, v1, v2, v3;

  void Round() {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }

  void Add(uint64_t block) {
    v3 ^= block;
    Round();
    Round();
    v0 ^= block;
  }
};

}  // namespace

uint64_t LegacyHash(absl::string_view bytes) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995u;
  constexpr uint64_t kSeed = 0xDECAFCAFFEu;
  uint64_t hash = kSeed ^ (bytes.size() * kFactor);
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    uint64_t block = Load64(bytes.data()) * kFactor;
    block = (block ^ (block >> 47)) * kFactor;
    hash = (hash ^ block) * kFactor;
  }
  if (!bytes.empty()) hash = (hash ^ LoadTail(bytes)) * kFactor;
  hash = (hash ^ (hash >> 47)) * kFactor;
  return hash ^ (hash >> 47);
}

uint64_t Fingerprint(absl::string_view bytes) {
  if (bytes.size() <= 16) return FarmUpTo16(bytes);
  if (bytes.size() <= 32) return FarmUpTo32(bytes);
  if (bytes.size() <= 64) return FarmUpTo64(bytes);
  return FarmLong(bytes);
}

uint64_t JoinFingerprints(uint64_t first, uint64_t second) {
  constexpr uint64_t kFactor = 0xc6a4a7935bd1e995u;
  uint64_t result = first ^ kFactor;
  result ^= Mix(second * kFactor) * kFactor;
  result *= kFactor;
  result = Mix(result) * kFactor;
  return Mix(result);
}

uint64_t KeyedHash(uint64_t key0, uint64_t key1, absl::string_view bytes) {
  SipState state = {key0 ^ 0x736f6d6570736575u, key1 ^ 0x646f72616e646f6du,
                    key0 ^ 0x6c7967656e657261u, key1 ^ 0x7465646279746573u};
  const uint64_t size = bytes.size();
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    state.Add(Load64(bytes.data()));
  }
  state.Add(LoadTail(bytes) | size << 56);
  state.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) state.Round();
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace weft
