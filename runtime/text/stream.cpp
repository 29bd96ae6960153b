// Ids that come one by one: whole characters go out, unless they may begin a
// stop string.
#include "runtime/text/decode.h"

#include <new>

using namespace sdc::text;

namespace {

enum class State : uint8_t { Open, Stopped, Finished };

} // namespace

struct sdc_text_stream {
  Scope scope;
  Decoder decoder;
  /// Decoded, and not given out: it may begin a stop string.
  Buffer<char> held;
  /// The piece that the caller looks at.
  Buffer<char> piece;
  /// The stop strings, one after another, and where each ends.
  Buffer<char> stops;
  Buffer<size_t> stopEnds;
  State state = State::Open;

  sdc_text_stream(const sdc_text &text, Scope &&outer, bool skipSpecial)
      : scope(outer), decoder(scope, text, skipSpecial, /*wholeRuns=*/false),
        held(scope), piece(scope), stops(scope), stopEnds(scope) {}

  Span stop(size_t i) const {
    size_t begin = i == 0 ? 0 : stopEnds[i - 1];
    return {stops.data() + begin, stopEnds[i] - begin};
  }
  bool settle(bool last);
};

/// The longest end of `text` that a stop string begins with.
static size_t openEnd(const sdc_text_stream &stream, Span text) {
  size_t longest = 0;
  for (size_t i = 0; i < stream.stopEnds.size(); ++i) {
    Span stop = stream.stop(i);
    size_t most = stop.size - 1 < text.size ? stop.size - 1 : text.size;
    for (size_t n = most; n > longest; --n)
      if (text.endsWith(stop.first(n))) {
        longest = n;
        break;
      }
  }
  return longest;
}

/// Moves from `held` to `piece` what is decided.
bool sdc_text_stream::settle(bool last) {
  Span text = {held.data(), held.size()};
  size_t end = SIZE_MAX;
  for (size_t i = 0; i < stopEnds.size(); ++i) {
    size_t at = find(text, stop(i), 0);
    if (at < end)
      end = at;
  }
  piece.clear();
  if (end != SIZE_MAX) {
    state = State::Stopped;
  } else {
    end = last ? text.size : text.size - openEnd(*this, text);
  }
  if (!piece.append(text.data, end))
    return false;
  if (state == State::Stopped) {
    held.clear();
    return true;
  }
  memmove(held.data(), held.data() + end, held.size() - end);
  held.truncate(held.size() - end);
  return true;
}

sdc_text_status sdc_text_stream_create(const sdc_text *text,
                                       const sdc_text_stream_options *options,
                                       sdc_text_stream **out_stream,
                                       sdc_text_error *out_error) {
  if (!text || !out_stream)
    return SDC_TEXT_INVALID_ARGUMENT;
  Scope scope{text->memory, out_error};
  if (options && options->size < sizeof(*options)) {
    scope.fail(SDC_TEXT_INVALID_ARGUMENT, "options of %zu bytes, expected %zu",
               options->size, sizeof(*options));
    return scope.status;
  }
  size_t count = options ? options->stop_count : 0;
  for (size_t i = 0; i < count; ++i)
    if (!options->stops || options->stops[i].size == 0) {
      scope.fail(SDC_TEXT_INVALID_ARGUMENT, "stop string %zu is empty", i);
      return scope.status;
    }
  void *block = scope.memory.resize(nullptr, sizeof(sdc_text_stream));
  if (!block) {
    scope.outOfMemory();
    return scope.status;
  }
  auto *stream = new (block)
      sdc_text_stream(*text, Scope(scope), options && options->skip_special);
  bool good = true;
  for (size_t i = 0; good && i < count; ++i)
    good =
        stream->stops.append(options->stops[i].data, options->stops[i].size) &&
        stream->stopEnds.push(stream->stops.size());
  if (!good) {
    sdc_text_status status = stream->scope.status;
    sdc_text_stream_destroy(stream);
    return status;
  }
  *out_stream = stream;
  return SDC_TEXT_OK;
}

void sdc_text_stream_destroy(sdc_text_stream *stream) {
  if (!stream)
    return;
  Allocator memory = stream->scope.memory;
  stream->~sdc_text_stream();
  memory.release(stream);
}

static sdc_text_status advance(sdc_text_stream *stream, const int32_t *id,
                               sdc_text_view *out_piece, bool *out_stopped,
                               sdc_text_error *out_error) {
  if (!stream || !out_piece || !out_stopped)
    return SDC_TEXT_INVALID_ARGUMENT;
  Scope &scope = stream->scope;
  scope.status = SDC_TEXT_OK;
  scope.error = out_error;
  bool good = true;
  if (stream->state != State::Open)
    good = scope.fail(SDC_TEXT_INVALID_ARGUMENT,
                      "the stream is over: reset it first");
  else
    good = id ? stream->decoder.push(*id, stream->held)
              : stream->decoder.finish(stream->held);
  good = good && stream->settle(id == nullptr);
  scope.error = nullptr;
  if (!good)
    return scope.status;
  *out_stopped = stream->state == State::Stopped;
  if (!id && stream->state == State::Open)
    stream->state = State::Finished;
  *out_piece = {stream->piece.data(), stream->piece.size()};
  return SDC_TEXT_OK;
}

sdc_text_status sdc_text_stream_push(sdc_text_stream *stream, int32_t id,
                                     sdc_text_view *out_piece,
                                     bool *out_stopped,
                                     sdc_text_error *out_error) {
  return advance(stream, &id, out_piece, out_stopped, out_error);
}

sdc_text_status sdc_text_stream_finish(sdc_text_stream *stream,
                                       sdc_text_view *out_piece,
                                       bool *out_stopped,
                                       sdc_text_error *out_error) {
  return advance(stream, nullptr, out_piece, out_stopped, out_error);
}

void sdc_text_stream_reset(sdc_text_stream *stream) {
  stream->decoder.reset();
  stream->held.clear();
  stream->piece.clear();
  stream->state = State::Open;
}
