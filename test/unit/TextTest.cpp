// The text library through its C interface, on small tables that the test
// makes: streams, stop strings, refusals, broken files, failing allocators.
#include "sdc/text.h"

#include "compiler/Emit/ChatTemplate.h"
#include "compiler/Emit/PatternTranslation.h"
#include "compiler/Emit/TextTable.h"
#include "compiler/Emit/TokenizerTable.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

std::string messageOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

/// The bytes of a table, aligned as an executable's segment is.
struct Table {
  std::vector<uint64_t> words;
  size_t size = 0;

  explicit Table(const std::vector<uint8_t> &bytes)
      : words(bytes.size() / 8 + 1), size(bytes.size()) {
    std::memcpy(words.data(), bytes.data(), bytes.size());
  }
  uint8_t *data() { return reinterpret_cast<uint8_t *>(words.data()); }
};

std::vector<uint8_t> tableOf(const std::string &tokenizer,
                             const std::string &chatTemplate = "") {
  sdc::fb::TextT text;
  auto read = sdc::readTokenizer(tokenizer, "tokenizer.json", 0);
  EXPECT_TRUE(static_cast<bool>(read));
  if (!read) {
    ADD_FAILURE() << messageOf(read.takeError());
    return {};
  }
  text.tokenizer = std::move(*read);
  if (!chatTemplate.empty()) {
    auto tree = sdc::compileChatTemplate(chatTemplate, "t");
    if (!tree) {
      ADD_FAILURE() << messageOf(tree.takeError());
      return {};
    }
    text.chat_template = std::move(*tree);
  }
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(sdc::fb::Text::Pack(builder, &text),
                 sdc::fb::TextIdentifier());
  return {builder.GetBufferPointer(),
          builder.GetBufferPointer() + builder.GetSize()};
}

/// Bytes as tokens, a few merges, marks for spaces.
std::string fallbackTokenizer(const std::string &decoder) {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte) {
    char token[16];
    std::snprintf(token, sizeof(token), "\"<0x%02X>\":%d,", byte, byte);
    vocab += token;
  }
  return R"({"model":{"type":"BPE","byte_fallback":true,"vocab":{)" + vocab +
         "\"\u2581\":256,\"a\":257,\"b\":258,\"\u2581\u2581\":259,\"ab\":260,"
         "\"\u2581a\":261,\"\u2581ab\":262,\"\u2581\u2581a\":263},"
         "\"merges\":[[\"\u2581\",\"\u2581\"],[\"a\",\"b\"],"
         "[\"\u2581\",\"a\"],[\"\u2581\",\"ab\"],[\"\u2581\u2581\",\"a\"]]},"
         "\"added_tokens\":[{\"id\":264,\"content\":\"<s>\",\"special\":true,"
         "\"normalized\":false}],"
         "\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},"
         "\"content\":\"\u2581\"}," +
         decoder + "}";
}

const char *const llamaDecoder =
    R"("decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":)"
    "{\"String\":\"\u2581\"},\"content\":\" \"},"
    R"({"type":"ByteFallback"},{"type":"Fuse"}]})";

class Text {
public:
  explicit Text(const std::vector<uint8_t> &bytes) : table(bytes) {
    sdc_text_error error = {};
    EXPECT_EQ(sdc_text_open(table.data(), table.size, nullptr, &text, &error),
              SDC_TEXT_OK)
        << error.message;
  }
  ~Text() { sdc_text_close(text); }

  std::vector<int32_t> encode(const std::string &input, bool special = true) {
    sdc_text_encode_options options = {sizeof(options), special, false};
    int32_t *ids = nullptr;
    size_t count = 0;
    EXPECT_EQ(sdc_text_encode(text, {input.data(), input.size()}, &options,
                              &ids, &count, nullptr),
              SDC_TEXT_OK);
    std::vector<int32_t> result(ids, ids + count);
    sdc_text_free(text, ids);
    return result;
  }
  std::string decode(const std::vector<int32_t> &ids, bool skip = false) {
    char *out = nullptr;
    size_t size = 0;
    EXPECT_EQ(sdc_text_decode(text, ids.data(), ids.size(), skip, &out, &size,
                              nullptr),
              SDC_TEXT_OK);
    std::string result(out, size);
    sdc_text_free(text, out);
    return result;
  }
  /// Pieces joined by '|'; a final '.' when a stop string was met.
  std::string stream(const std::vector<int32_t> &ids,
                     const std::vector<std::string> &stops) {
    std::vector<sdc_text_view> views;
    for (const std::string &stop : stops)
      views.push_back({stop.data(), stop.size()});
    sdc_text_stream_options options = {sizeof(options), false, views.data(),
                                       views.size()};
    sdc_text_stream *stream = nullptr;
    EXPECT_EQ(sdc_text_stream_create(text, &options, &stream, nullptr),
              SDC_TEXT_OK);
    std::string result;
    bool stopped = false;
    sdc_text_view piece;
    for (int32_t id : ids) {
      EXPECT_EQ(sdc_text_stream_push(stream, id, &piece, &stopped, nullptr),
                SDC_TEXT_OK);
      result.append(piece.data ? piece.data : "", piece.size);
      if (stopped)
        break;
      result += "|";
    }
    if (!stopped) {
      EXPECT_EQ(sdc_text_stream_finish(stream, &piece, &stopped, nullptr),
                SDC_TEXT_OK);
      result.append(piece.data ? piece.data : "", piece.size);
    }
    EXPECT_EQ(sdc_text_stream_push(stream, 1, &piece, &stopped, nullptr),
              SDC_TEXT_INVALID_ARGUMENT);
    sdc_text_stream_destroy(stream);
    return result + (stopped ? "." : "");
  }
  std::string apply(const std::vector<sdc_text_message> &messages) {
    char *out = nullptr;
    size_t size = 0;
    sdc_text_error error = {};
    if (sdc_text_apply_template(text, messages.data(), messages.size(), nullptr,
                                &out, &size, &error) != SDC_TEXT_OK)
      return std::string("error: ") + error.message;
    std::string result(out, size);
    sdc_text_free(text, out);
    return result;
  }

  Table table;
  sdc_text *text = nullptr;
};

TEST(Text, MergesByRank) {
  Text text(tableOf(fallbackTokenizer(llamaDecoder)));
  EXPECT_EQ(text.encode("ab ab  a"), (std::vector<int32_t>{260, 262, 263}));
  EXPECT_EQ(text.encode("<s>a"), (std::vector<int32_t>{264, 257}));
  EXPECT_EQ(text.encode("<s>", false), (std::vector<int32_t>{'<', 's', '>'}));
  EXPECT_EQ(text.decode({264, 262, 260}, true), " abab");
}

TEST(Text, LongWordsCostNoMoreThanTheyShould) {
  Text text(tableOf(fallbackTokenizer(llamaDecoder)));
  std::string million;
  while (million.size() < 1000000)
    million += "aab";
  EXPECT_EQ(text.decode(text.encode(million)), million);
}

TEST(Text, HoldsBackIncompleteCharacters) {
  Text text(tableOf(fallbackTokenizer(llamaDecoder)));
  EXPECT_EQ(text.stream({0xF0, 0x9F, 0x98, 0x80, 257}, {}),
            "|||\xF0\x9F\x98\x80|a|");
  // Broken bytes: one mark for each, and the rest goes on.
  EXPECT_EQ(text.stream({0xE2, 257}, {}), "|\xEF\xBF\xBD"
                                          "a|");
  EXPECT_EQ(text.stream({0xC3}, {}), "|\xEF\xBF\xBD");
}

TEST(Text, StopsAcrossTokens) {
  Text text(tableOf(fallbackTokenizer(llamaDecoder)));
  EXPECT_EQ(text.stream({257, 258, 257}, {"ba"}), "a||.");
  EXPECT_EQ(text.stream({257, 258, 258}, {"ba"}), "a||b|b");
  EXPECT_EQ(text.stream({262, 257}, {"baX", "b a"}), " a||ba");
  // The earliest match counts, even inside one token.
  EXPECT_EQ(text.stream({262}, {"b", "a"}), " .");
}

TEST(Text, MetaspaceTakesOneMark) {
  // T01: the package takes every mark off the first token.
  std::string metaspace =
      "\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"\u2581\","
      "\"prepend_scheme\":\"always\",\"split\":true}";
  Text text(tableOf(fallbackTokenizer(metaspace)));
  EXPECT_EQ(text.decode({263, 262}), " a ab");
  EXPECT_EQ(text.decode({262, 262}), "ab ab");
}

TEST(Text, RefusesWhatIsNotUtf8) {
  Text text(tableOf(fallbackTokenizer(llamaDecoder)));
  int32_t *ids;
  size_t count;
  sdc_text_error error = {};
  EXPECT_EQ(
      sdc_text_encode(text.text, {"ab\xFF", 3}, nullptr, &ids, &count, &error),
      SDC_TEXT_INVALID_UTF8);
  EXPECT_STREQ(error.message, "byte 2 of the text is not UTF-8");
}

TEST(Text, TemplateErrorsHaveTheirLine) {
  Text text(
      tableOf(fallbackTokenizer(llamaDecoder), "a\n{{ messages[0].x.y }}"));
  EXPECT_EQ(text.apply({{{"user", 4}, {"hi", 2}}}),
            "error: chat template, line 2: an undefined value has no 'y'");
}

TEST(Text, TemplatesEnd) {
  Text text(tableOf(fallbackTokenizer(llamaDecoder),
                    "{% for a in range(9999) %}{% for b in range(9999) %}"
                    "{% for c in range(9999) %}{% endfor %}{% endfor %}"
                    "{% endfor %}"));
  EXPECT_EQ(text.apply({}).substr(0, 6), "error:");
  Text endless(tableOf(fallbackTokenizer(llamaDecoder),
                       "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"));
  EXPECT_EQ(endless.apply({}),
            "error: chat template, line 1: nested too deeply");
}

TEST(Text, OpensNoBrokenTable) {
  std::vector<uint8_t> good =
      tableOf(fallbackTokenizer(llamaDecoder),
              "{% for m in messages %}{{ m.content|trim }}{% endfor %}");
  auto use = [](Table &table) {
    sdc_text *text = nullptr;
    if (sdc_text_open(table.data(), table.size, nullptr, &text, nullptr) !=
        SDC_TEXT_OK)
      return false;
    int32_t *ids = nullptr;
    size_t count = 0;
    if (sdc_text_encode(text, {"ab <s> x", 8}, nullptr, &ids, &count,
                        nullptr) == SDC_TEXT_OK) {
      char *out = nullptr;
      size_t size = 0;
      if (sdc_text_decode(text, ids, count, false, &out, &size, nullptr) ==
          SDC_TEXT_OK)
        sdc_text_free(text, out);
      sdc_text_free(text, ids);
    }
    sdc_text_message message = {{"user", 4}, {" hi ", 4}};
    char *out = nullptr;
    size_t size = 0;
    if (sdc_text_apply_template(text, &message, 1, nullptr, &out, &size,
                                nullptr) == SDC_TEXT_OK)
      sdc_text_free(text, out);
    sdc_text_close(text);
    return true;
  };
  for (size_t size = 0; size < good.size(); size += good.size() / 64 + 1) {
    Table cut(std::vector<uint8_t>(good.begin(), good.begin() + size));
    EXPECT_FALSE(use(cut)) << size;
  }
  // A flipped byte may go unnoticed, and must do no harm.
  for (size_t i = 0; i < good.size(); i += 3) {
    std::vector<uint8_t> bytes = good;
    bytes[i] ^= static_cast<uint8_t>(1u << (i / 3 % 8));
    Table table(bytes);
    use(table);
  }
}

/// Fails at a chosen allocation and counts what is not given back.
struct Heap {
  int left;
  int live = 0;
  static void *reallocate(void *user, void *block, size_t size) {
    auto *heap = static_cast<Heap *>(user);
    if (size == 0) {
      heap->live -= block != nullptr;
      std::free(block);
      return nullptr;
    }
    if (heap->left-- <= 0)
      return nullptr;
    heap->live += block == nullptr;
    return std::realloc(block, size);
  }
};

TEST(Text, SurvivesEveryFailedAllocation) {
  Table table(tableOf(fallbackTokenizer(llamaDecoder),
                      "{{ messages[0].content | upper ~ [1, 2] }}"));
  bool done = false;
  for (int i = 0; !done; ++i) {
    ASSERT_LT(i, 1000);
    Heap heap = {i};
    sdc_text_open_options options = {sizeof(options), Heap::reallocate, &heap};
    sdc_text *text = nullptr;
    sdc_text_status status =
        sdc_text_open(table.data(), table.size, &options, &text, nullptr);
    if (status == SDC_TEXT_OK) {
      int32_t *ids = nullptr;
      size_t count = 0;
      status =
          sdc_text_encode(text, {"ab <s>a", 7}, nullptr, &ids, &count, nullptr);
      sdc_text_message message = {{"user", 4}, {"hi", 2}};
      char *out = nullptr;
      size_t size = 0;
      if (status == SDC_TEXT_OK) {
        sdc_text_free(text, ids);
        status = sdc_text_apply_template(text, &message, 1, nullptr, &out,
                                         &size, nullptr);
      }
      if (status == SDC_TEXT_OK)
        sdc_text_free(text, out);
      done = status == SDC_TEXT_OK;
      sdc_text_close(text);
    }
    EXPECT_TRUE(status == SDC_TEXT_OK || status == SDC_TEXT_OUT_OF_MEMORY)
        << sdc_text_status_name(status);
    EXPECT_EQ(heap.live, 0) << i;
  }
}

//===----------------------------------------------------------------------===//
// What the compiler refuses
//===----------------------------------------------------------------------===//

std::string tokenizerError(const std::string &json, uint64_t rows = 0) {
  auto read = sdc::readTokenizer(json, "tokenizer.json", rows);
  return read ? "" : messageOf(read.takeError());
}

TEST(TokenizerTable, NamesWhatItCannotDo) {
  EXPECT_EQ(tokenizerError(R"({"model":{"type":"Unigram","vocab":[]}})"),
            "tokenizer.json: error: the model type 'Unigram' is not supported; "
            "expected BPE (byte-level or with byte fallback)");
  EXPECT_NE(tokenizerError("{").find("not JSON"), std::string::npos);
  EXPECT_NE(tokenizerError("[1]").find("no 'model'"), std::string::npos);
  // Every problem at once.
  std::string both = tokenizerError(
      R"({"model":{"vocab":{"a":0},"merges":["a b"]},)"
      R"("normalizer":{"type":"Nmt"},"pre_tokenizer":{"type":"UnicodeScripts"}})");
  EXPECT_NE(both.find("merge 0 'a b': its right side is not in the vocabulary"),
            std::string::npos);
  EXPECT_NE(both.find("the normalizer 'Nmt' is not supported"),
            std::string::npos);
  EXPECT_NE(both.find("the pre-tokenizer 'UnicodeScripts' is not supported"),
            std::string::npos);
}

TEST(TokenizerTable, IdsStayInTheEmbedding) {
  std::string json = R"({"model":{"vocab":{"a":0,"b":7},"merges":[]}})";
  EXPECT_EQ(tokenizerError(json, 8), "");
  EXPECT_EQ(tokenizerError(json, 7),
            "tokenizer.json: error: 1 tokens have ids beyond the embedding of "
            "7 rows, the first is 'b' with id 7: is this the model's own "
            "tokenizer?");
}

TEST(TokenizerTable, ReadsBothFormsOfMerges) {
  // T05: tokens with spaces exist in the second form only.
  Text old(tableOf(R"({"model":{"vocab":{"a":0,"b":1,"ab":2},)"
                   R"("merges":["a b"]}})"));
  EXPECT_EQ(old.encode("ab"), (std::vector<int32_t>{2}));
  Text spaced(tableOf(R"({"model":{"vocab":{"a":0," ":1,"a ":2},)"
                      R"("merges":[["a"," "]]}})"));
  EXPECT_EQ(spaced.encode("a "), (std::vector<int32_t>{2}));
}

TEST(TokenizerTable, ReadsSurrogatePairs) {
  Text text(tableOf(R"({"model":{"vocab":{"\ud840\udc00":5},"merges":[]}})"));
  EXPECT_EQ(text.encode("\U00020000"), (std::vector<int32_t>{5}));
}

std::string patternError(const std::string &pattern) {
  auto translated = sdc::translatePattern(pattern);
  return translated ? "" : messageOf(translated.takeError());
}

TEST(PatternTranslation, NamesWhatItCannotDo) {
  EXPECT_EQ(patternError("a\\R"),
            "pattern 'a\\R', byte 2: '\\R' is not supported");
  EXPECT_EQ(patternError("(a)\\1"),
            "pattern '(a)\\1', byte 4: '\\1' is not supported");
  EXPECT_EQ(patternError("(?<n>a)"),
            "pattern '(?<n>a)', byte 1: the group '(?<' is not supported");
  EXPECT_EQ(patternError("\\p{Klingon}"),
            "pattern '\\p{Klingon}', byte 1: the "
            "property 'Klingon' is not supported");
  EXPECT_EQ(patternError("(a"), "pattern '(a', byte 2: a group without ')'");
  EXPECT_EQ(patternError("a)"), "pattern 'a)', byte 1: unmatched ')'");
  EXPECT_EQ(patternError("[a"), "pattern '[a', byte 2: a class without ']'");
}

TEST(PatternTranslation, KeepsWhatOnigurumaMeans) {
  auto of = [](const char *pattern) {
    auto translated = sdc::translatePattern(pattern);
    return translated ? *translated : messageOf(translated.takeError());
  };
  EXPECT_EQ(of("[a-f&&[^c-d]]+?"), "[a-be-f]+?");
  EXPECT_EQ(of("a{2}+b{,3}"), "(?:a{2})+b{0,3}");
  EXPECT_EQ(of("a{2}?"), "(?:a{2})?");
  EXPECT_EQ(of("(?i:'s)|x"), "(?i:\\x{27}s)|x");
  EXPECT_EQ(of("(a|b)(?!c)"), "(?:a|b)(?!c)");
}

std::string templateError(const std::string &source) {
  auto tree = sdc::compileChatTemplate(source, "t.jinja");
  return tree ? "" : messageOf(tree.takeError());
}

TEST(ChatTemplate, NamesWhatItCannotDo) {
  EXPECT_EQ(templateError("a\n{% include 'x' %}"),
            "t.jinja:2: error: the block {% include %} is not supported");
  EXPECT_EQ(templateError("{{ x | pprint }}"),
            "t.jinja:1: error: the filter 'pprint' is not supported");
  EXPECT_EQ(templateError("{{ x is escaped }}"),
            "t.jinja:1: error: the test 'escaped' is not supported");
  EXPECT_EQ(templateError("{{ x.append(1) }}"),
            "t.jinja:1: error: the method 'append' is not supported");
  EXPECT_EQ(templateError("{{ cycler(1) }}"),
            "t.jinja:1: error: the function 'cycler' is not supported");
  EXPECT_EQ(templateError("{% for a in b recursive %}{% endfor %}"),
            "t.jinja:1: error: recursive loops are not supported");
  EXPECT_EQ(templateError("{% if x %}"),
            "t.jinja:1: error: a block without {% endif %}");
  EXPECT_EQ(templateError("{% endif %}"),
            "t.jinja:1: error: unexpected {% endif %}");
  EXPECT_EQ(templateError("\n\n{{ a b }}"),
            "t.jinja:3: error: expected '}}', got 'b'");
  EXPECT_EQ(templateError("{{ 'a }}"),
            "t.jinja:1: error: a string without its closing quote");
  EXPECT_EQ(templateError("{% break %}"),
            "t.jinja:1: error: 'break' outside a loop");
  EXPECT_EQ(templateError("{{ 'a'.strip(1, 2) }}"),
            "t.jinja:1: error: the method 'strip' takes 1 arguments, got 2");
  EXPECT_NE(templateError("{{ " + std::string(5000, '(') + " }}"), "");
}

TEST(TextTable, CollectsTheStopSet) {
  // T12: every eos counts.
  std::string folder = testing::TempDir() + "sdc-text-table";
  std::string make = "rm -rf '" + folder + "' && mkdir -p '" + folder + "'";
  ASSERT_EQ(std::system(make.c_str()), 0);
  auto write = [&](const char *name, const char *contents) {
    std::ofstream(folder + "/" + name) << contents;
  };
  sdc::TextTableOptions options;
  options.modelFolder = folder;
  auto nothing = sdc::buildTextTable(options);
  ASSERT_TRUE(static_cast<bool>(nothing));
  EXPECT_FALSE(nothing->has_value());
  write("tokenizer.json",
        R"({"model":{"vocab":{"a":0,"b":1,"c":2},"merges":[]}})");
  write("tokenizer_config.json",
        R"({"eos_token":{"content":"c"},"chat_template":[)"
        R"({"name":"tool_use","template":"no"},)"
        R"({"name":"default","template":"{{ eos_token }}"}]})");
  write("genai_config.json", R"({"model":{"eos_token_id":[1,2]}})");
  auto built = sdc::buildTextTable(options);
  ASSERT_TRUE(static_cast<bool>(built));
  Text text((*built)->bytes);
  const int32_t *ids;
  size_t count;
  sdc_text_stop_ids(text.text, &ids, &count);
  EXPECT_EQ(std::vector<int32_t>(ids, ids + count),
            (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(text.apply({}), "c");
  EXPECT_EQ((*built)->inputs.size(), 3u);
  // generation_config.json goes first.
  write("generation_config.json", R"({"eos_token_id":0})");
  auto again = sdc::buildTextTable(options);
  ASSERT_TRUE(static_cast<bool>(again));
  Text other((*again)->bytes);
  sdc_text_stop_ids(other.text, &ids, &count);
  EXPECT_EQ(std::vector<int32_t>(ids, ids + count), (std::vector<int32_t>{0}));
}

} // namespace
