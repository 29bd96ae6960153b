// Drives the text library from scripts: makes a text segment from a folder,
// then answers requests, one JSON value a line, on stdin.
//
//   TextTool compile FOLDER OUT [ROWS]
//   TextTool serve TABLE        {"encode": "text", "parse_special": true, ...}
//                               {"decode": [ids], "skip_special": false}
//                               {"stream": [ids], "stops": ["x"]}
//                               {"template": [messages], "variables": {...}}
//                               {"info": true}
//   TextTool bench TABLE FILE   MB/s of encoding the file, whole and by line
#include "compiler/Emit/TextTable.h"

#include "sdc/text.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <iostream>
#include <string>

using namespace llvm;

static int fail(const Twine &what) {
  errs() << what << "\n";
  return 1;
}

static sdc_text_view view(StringRef text) { return {text.data(), text.size()}; }

static int compile(StringRef folder, StringRef out, uint64_t rows) {
  sdc::TextTableOptions options;
  options.modelFolder = folder.str();
  options.embeddingRows = rows;
  auto table = sdc::buildTextTable(options);
  if (!table)
    return fail(toString(table.takeError()));
  if (!*table)
    return fail("no tokenizer");
  for (const std::string &warning : (*table)->warnings)
    errs() << "warning: " << warning << "\n";
  std::error_code error;
  raw_fd_ostream stream(out, error);
  if (error)
    return fail(error.message());
  stream.write(reinterpret_cast<const char *>((*table)->bytes.data()),
               (*table)->bytes.size());
  return 0;
}

static json::Value failure(sdc_text_status status,
                           const sdc_text_error &error) {
  return json::Object{{"status", sdc_text_status_name(status)},
                      {"error", std::string(error.message)}};
}

static std::vector<int32_t> idsOf(const json::Array &array) {
  std::vector<int32_t> ids;
  for (const json::Value &value : array)
    ids.push_back(static_cast<int32_t>(value.getAsInteger().value_or(-1)));
  return ids;
}

static json::Value encode(const sdc_text *text, const json::Object &request) {
  sdc_text_encode_options options = {
      sizeof(options), request.getBoolean("parse_special").value_or(false),
      request.getBoolean("add_special").value_or(false)};
  int32_t *ids;
  size_t count;
  sdc_text_error error = {};
  sdc_text_status status = sdc_text_encode(
      text, view(*request.getString("encode")), &options, &ids, &count, &error);
  if (status != SDC_TEXT_OK)
    return failure(status, error);
  json::Array result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(ids[i]);
  sdc_text_free(text, ids);
  return result;
}

static json::Value decode(const sdc_text *text, const json::Object &request) {
  std::vector<int32_t> ids = idsOf(*request.getArray("decode"));
  char *out;
  size_t size;
  sdc_text_error error = {};
  sdc_text_status status = sdc_text_decode(
      text, ids.data(), ids.size(),
      request.getBoolean("skip_special").value_or(false), &out, &size, &error);
  if (status != SDC_TEXT_OK)
    return failure(status, error);
  json::Value result = std::string(out, size);
  sdc_text_free(text, out);
  return result;
}

static json::Value stream(const sdc_text *text, const json::Object &request) {
  std::vector<sdc_text_view> stops;
  if (const json::Array *list = request.getArray("stops"))
    for (const json::Value &stop : *list)
      stops.push_back(view(*stop.getAsString()));
  sdc_text_stream_options options = {
      sizeof(options), request.getBoolean("skip_special").value_or(false),
      stops.data(), stops.size()};
  sdc_text_stream *stream;
  sdc_text_error error = {};
  sdc_text_status status =
      sdc_text_stream_create(text, &options, &stream, &error);
  if (status != SDC_TEXT_OK)
    return failure(status, error);
  json::Array pieces;
  bool stopped = false;
  sdc_text_view piece;
  for (int32_t id : idsOf(*request.getArray("stream"))) {
    status = sdc_text_stream_push(stream, id, &piece, &stopped, &error);
    if (status != SDC_TEXT_OK)
      break;
    pieces.push_back(std::string(piece.data ? piece.data : "", piece.size));
    if (stopped)
      break;
  }
  if (status == SDC_TEXT_OK && !stopped) {
    status = sdc_text_stream_finish(stream, &piece, &stopped, &error);
    if (status == SDC_TEXT_OK)
      pieces.push_back(std::string(piece.data ? piece.data : "", piece.size));
  }
  sdc_text_stream_destroy(stream);
  if (status != SDC_TEXT_OK)
    return failure(status, error);
  return json::Object{{"pieces", std::move(pieces)}, {"stopped", stopped}};
}

static json::Value applyTemplate(const sdc_text *text,
                                 const json::Object &request) {
  std::vector<sdc_text_message> messages;
  for (const json::Value &value : *request.getArray("template")) {
    const json::Object &message = *value.getAsObject();
    messages.push_back({view(*message.getString("role")),
                        view(*message.getString("content"))});
  }
  std::vector<sdc_text_variable> variables;
  if (const json::Object *given = request.getObject("variables"))
    for (const auto &[name, value] : *given) {
      sdc_text_variable variable = {};
      variable.name = view(name);
      variable.kind = SDC_TEXT_VARIABLE_NONE;
      if (auto string = value.getAsString()) {
        variable.kind = SDC_TEXT_VARIABLE_STRING;
        variable.string = view(*string);
      } else if (auto boolean = value.getAsBoolean()) {
        variable.kind = SDC_TEXT_VARIABLE_BOOL;
        variable.integer = *boolean;
      } else if (auto integer = value.getAsInteger()) {
        variable.kind = SDC_TEXT_VARIABLE_INT;
        variable.integer = *integer;
      }
      variables.push_back(variable);
    }
  sdc_text_template_options options = {
      sizeof(options),
      request.getBoolean("add_generation_prompt").value_or(false),
      variables.data(), variables.size(),
      request.getInteger("now").value_or(-1)};
  char *out;
  size_t size;
  sdc_text_error error = {};
  sdc_text_status status = sdc_text_apply_template(
      text, messages.data(), messages.size(), &options, &out, &size, &error);
  if (status != SDC_TEXT_OK)
    return failure(status, error);
  json::Value result = json::Object{{"text", std::string(out, size)}};
  sdc_text_free(text, out);
  return result;
}

static json::Value describe(const sdc_text *text) {
  const int32_t *stops;
  size_t count;
  sdc_text_stop_ids(text, &stops, &count);
  return json::Object{
      {"vocab_size", sdc_text_vocab_size(text)},
      {"stop_ids", json::Array(ArrayRef<int32_t>(stops, count))},
      {"has_template", sdc_text_has_template(text)}};
}

static int serve(const sdc_text *text) {
  for (std::string line; std::getline(std::cin, line);) {
    Expected<json::Value> value = json::parse(line);
    if (!value || !value->getAsObject())
      return fail("a request that is no JSON object");
    const json::Object &request = *value->getAsObject();
    json::Value answer = request.get("encode")   ? encode(text, request)
                         : request.get("decode") ? decode(text, request)
                         : request.get("stream") ? stream(text, request)
                         : request.get("template")
                             ? applyTemplate(text, request)
                             : describe(text);
    outs() << answer << "\n";
  }
  return 0;
}

static int bench(const sdc_text *text, StringRef data) {
  auto measure = [&](StringRef name, auto run) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      auto begin = std::chrono::steady_clock::now();
      run();
      std::chrono::duration<double> time =
          std::chrono::steady_clock::now() - begin;
      best = std::min(best, time.count());
    }
    outs() << name << ": " << format("%.1f", data.size() / best / 1e6)
           << " MB/s\n";
  };
  auto encodePart = [&](StringRef part) {
    int32_t *ids;
    size_t count;
    if (sdc_text_encode(text, view(part), nullptr, &ids, &count, nullptr) ==
        SDC_TEXT_OK)
      sdc_text_free(text, ids);
  };
  measure("whole", [&] { encodePart(data); });
  measure("by line", [&] {
    for (StringRef rest = data; !rest.empty();) {
      auto [line, tail] = rest.split('\n');
      encodePart(line);
      rest = tail;
    }
  });
  return 0;
}

int main(int argc, char **argv) {
  StringRef verb = argc > 1 ? argv[1] : "";
  if (verb == "compile" && argc >= 4)
    return compile(argv[2], argv[3], argc > 4 ? std::stoull(argv[4]) : 0);
  if (argc < 3)
    return fail("TextTool compile|serve|bench");
  auto file = MemoryBuffer::getFile(argv[2], false, false, false, Align(16));
  if (!file)
    return fail(file.getError().message());
  sdc_text *text;
  sdc_text_error error = {};
  sdc_text_status status =
      sdc_text_open((*file)->getBufferStart(), (*file)->getBufferSize(),
                    nullptr, &text, &error);
  if (status != SDC_TEXT_OK)
    return fail(Twine(sdc_text_status_name(status)) + ": " + error.message);
  int rc = 1;
  if (verb == "serve") {
    rc = serve(text);
  } else if (verb == "bench" && argc > 3) {
    auto data = MemoryBuffer::getFile(argv[3]);
    rc = data ? bench(text, (*data)->getBuffer())
              : fail(data.getError().message());
  }
  sdc_text_close(text);
  return rc;
}
