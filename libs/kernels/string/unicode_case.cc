#include "libs/kernels/string/unicode_case.h"

#include <wctype.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/status/status.h"

namespace weft {
namespace {

constexpr char32_t kNoCharacter = 0xFFFD;
constexpr char32_t kSigma = 0x03A3;
constexpr char32_t kFinalSigma = 0x03C2;
constexpr char32_t kDottedI = 0x0130;

// Letters with several letters in upper case (Unicode's SpecialCasing.txt), by
// code point; those from 1F80 to 1FAF follow a rule.
struct Expansion {
  char32_t letter;
  std::array<char32_t, 3> upper;  // padded with 0
};
constexpr Expansion kExpansions[] = {
    {0x00DF, {0x0053, 0x0053}},         {0x0149, {0x02BC, 0x004E}},
    {0x01F0, {0x004A, 0x030C}},         {0x0390, {0x0399, 0x0308, 0x0301}},
    {0x03B0, {0x03A5, 0x0308, 0x0301}}, {0x0587, {0x0535, 0x0552}},
    {0x1E96, {0x0048, 0x0331}},         {0x1E97, {0x0054, 0x0308}},
    {0x1E98, {0x0057, 0x030A}},         {0x1E99, {0x0059, 0x030A}},
    {0x1E9A, {0x0041, 0x02BE}},         {0x1F50, {0x03A5, 0x0313}},
    {0x1F52, {0x03A5, 0x0313, 0x0300}}, {0x1F54, {0x03A5, 0x0313, 0x0301}},
    {0x1F56, {0x03A5, 0x0313, 0x0342}}, {0x1FB2, {0x1FBA, 0x0399}},
    {0x1FB3, {0x0391, 0x0399}},         {0x1FB4, {0x0386, 0x0399}},
    {0x1FB6, {0x0391, 0x0342}},         {0x1FB7, {0x0391, 0x0342, 0x0399}},
    {0x1FBC, {0x0391, 0x0399}},         {0x1FC2, {0x1FCA, 0x0399}},
    {0x1FC3, {0x0397, 0x0399}},         {0x1FC4, {0x0389, 0x0399}},
    {0x1FC6, {0x0397, 0x0342}},         {0x1FC7, {0x0397, 0x0342, 0x0399}},
    {0x1FCC, {0x0397, 0x0399}},         {0x1FD2, {0x0399, 0x0308, 0x0300}},
    {0x1FD3, {0x0399, 0x0308, 0x0301}}, {0x1FD6, {0x0399, 0x0342}},
    {0x1FD7, {0x0399, 0x0308, 0x0342}}, {0x1FE2, {0x03A5, 0x0308, 0x0300}},
    {0x1FE3, {0x03A5, 0x0308, 0x0301}}, {0x1FE4, {0x03A1, 0x0313}},
    {0x1FE6, {0x03A5, 0x0342}},         {0x1FE7, {0x03A5, 0x0308, 0x0342}},
    {0x1FF2, {0x1FFA, 0x0399}},         {0x1FF3, {0x03A9, 0x0399}},
    {0x1FF4, {0x038F, 0x0399}},         {0x1FF6, {0x03A9, 0x0342}},
    {0x1FF7, {0x03A9, 0x0342, 0x0399}}, {0x1FFC, {0x03A9, 0x0399}},
    {0xFB00, {0x0046, 0x0046}},         {0xFB01, {0x0046, 0x0049}},
    {0xFB02, {0x0046, 0x004C}},         {0xFB03, {0x0046, 0x0046, 0x0049}},
    {0xFB04, {0x0046, 0x0046, 0x004C}}, {0xFB05, {0x0053, 0x0054}},
    {0xFB06, {0x0053, 0x0054}},         {0xFB13, {0x0544, 0x0546}},
    {0xFB14, {0x0544, 0x0535}},         {0xFB15, {0x0544, 0x053B}},
    {0xFB16, {0x054E, 0x0546}},         {0xFB17, {0x0544, 0x053D}},
};

// The length of a character by its first byte, and the bits in that byte;
// length 0 if no character starts with it.
struct Lead {
  size_t size;
  char32_t bits;
};
Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1, byte};
  if (byte >= 0xC2 && byte < 0xE0) return {2, byte & 0x1Fu};
  if (byte >= 0xE0 && byte < 0xF0) return {3, byte & 0x0Fu};
  if (byte >= 0xF0 && byte < 0xF5) return {4, byte & 0x07u};
  return {0, 0};
}

// Returns whether `byte` may follow the first byte `lead`: not if the character
// would have a shorter form, be a surrogate, or exceed the last code point.
bool MayFollow(uint8_t lead, uint8_t byte) {
  if (lead == 0xE0) return byte >= 0xA0;
  if (lead == 0xED) return byte < 0xA0;
  if (lead == 0xF0) return byte >= 0x90;
  if (lead == 0xF4) return byte < 0x90;
  return true;
}

// Removes a character from the front, or the longest prefix of one.
char32_t TakeCharacter(absl::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  auto [size, character] = LeadOf(byte(0));
  size_t taken = 1;
  while (taken < size && taken < text.size() && (byte(taken) & 0xC0) == 0x80 &&
         (taken > 1 || MayFollow(byte(0), byte(1)))) {
    character = character << 6 | (byte(taken++) & 0x3Fu);
  }
  text.remove_prefix(taken);
  return taken == size ? character : kNoCharacter;
}

std::u32string FromUtf8(absl::string_view text) {
  std::u32string characters;
  while (!text.empty()) characters += TakeCharacter(text);
  return characters;
}

void AppendUtf8(char32_t c, std::string& text) {
  const auto append = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (c < 0x80) return append(c);
  const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr char32_t kLeads[] = {0, 0xC0, 0xE0, 0xF0};
  append(kLeads[more] | c >> (6 * more));
  for (int i = more - 1; i >= 0; --i) append(0x80 | ((c >> (6 * i)) & 0x3F));
}

// Characters that do not end a word: marks on letters, and signs inside words.
bool IsPassedOver(char32_t c) {
  constexpr char32_t kSigns[] = {0x27, 0x2E,   0x3A,   0x5E,   0x60,
                                 0xA8, 0xAD,   0xAF,   0xB4,   0xB7,
                                 0xB8, 0x2018, 0x2019, 0x2024, 0x2027};
  constexpr std::pair<char32_t, char32_t> kMarks[] = {
      {0x02B0, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},
      {0x064B, 0x065F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
      {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
  return std::find(std::begin(kSigns), std::end(kSigns), c) !=
             std::end(kSigns) ||
         std::any_of(std::begin(kMarks), std::end(kMarks), [c](auto range) {
           return c >= range.first && c <= range.second;
         });
}

// Appends the upper case of a letter that expands; returns false for others.
bool AppendExpansion(char32_t c, std::string& text) {
  if (c >= 0x1F80 && c <= 0x1FAF) {
    constexpr char32_t kFirst[] = {0x1F08, 0x1F28, 0x1F68};
    AppendUtf8(kFirst[(c - 0x1F80) / 16] + c % 8, text);
    AppendUtf8(0x0399, text);
    return true;
  }
  const auto* found = std::lower_bound(
      std::begin(kExpansions), std::end(kExpansions), c,
      [](const Expansion& a, char32_t letter) { return a.letter < letter; });
  if (found == std::end(kExpansions) || found->letter != c) return false;
  for (const char32_t letter : found->upper) {
    if (letter != 0) AppendUtf8(letter, text);
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnicodeCase>> UnicodeCase::Make() {
  const locale_t locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", locale_t{});
  if (locale != locale_t{}) {
    return std::unique_ptr<UnicodeCase>(new UnicodeCase(locale));
  }
  return absl::UnimplementedError(
      "letters outside ASCII need the locale C.UTF-8, which this system lacks; "
      "install it, or use encoding ''");
}

bool UnicodeCase::HasCase(char32_t letter) const {
  return iswupper_l(letter, locale_) != 0 || iswlower_l(letter, locale_) != 0 ||
         towlower_l(letter, locale_) != letter ||
         towupper_l(letter, locale_) != letter;
}

bool UnicodeCase::EndsWord(const std::u32string& text, size_t i) const {
  size_t before = i;
  while (before > 0 && IsPassedOver(text[before - 1])) --before;
  if (before == 0 || !HasCase(text[before - 1])) return false;
  size_t after = i + 1;
  while (after < text.size() && IsPassedOver(text[after])) ++after;
  return after == text.size() || !HasCase(text[after]);
}

std::string UnicodeCase::Lower(absl::string_view text) const {
  const std::u32string letters = FromUtf8(text);
  std::string lower;
  for (size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == kDottedI) {
      lower += "i\xCC\x87";  // the dot stays
    } else if (letters[i] == kSigma && EndsWord(letters, i)) {
      AppendUtf8(kFinalSigma, lower);
    } else {
      AppendUtf8(towlower_l(letters[i], locale_), lower);
    }
  }
  return lower;
}

std::string UnicodeCase::Upper(absl::string_view text) const {
  std::string upper;
  while (!text.empty()) {
    const char32_t letter = TakeCharacter(text);
    if (AppendExpansion(letter, upper)) continue;
    AppendUtf8(towupper_l(letter, locale_), upper);
  }
  return upper;
}

}  // namespace weft
