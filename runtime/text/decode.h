// Tokens back to text: a machine that takes ids and gives whole characters.
#ifndef SDC_RUNTIME_TEXT_DECODE_H
#define SDC_RUNTIME_TEXT_DECODE_H

#include "runtime/text/model.h"

namespace sdc::text {

class Decoder {
public:
  /// `wholeRuns`: a run of byte tokens is judged when it is over, as the
  /// Python package does it; otherwise its characters come out as soon as
  /// they are whole.
  Decoder(Scope &scope, const sdc_text &text, bool skipSpecial, bool wholeRuns)
      : text(text), skipSpecial(skipSpecial), wholeRuns(wholeRuns), run(scope),
        token(scope), nextToken(scope) {}

  /// Appends what can be said after one more id.
  bool push(int32_t id, Buffer<char> &out);
  /// Appends what is left.
  bool finish(Buffer<char> &out);
  void reset();
  void rebind(Scope &scope);

private:
  bool replaceAll(Span from, Span to);
  bool stripToken(const fb::Decoder &decoder);
  bool pushByte(char byte, Buffer<char> &out);
  bool endRun(Buffer<char> &out);
  bool pushBytes(Buffer<char> &out);
  bool pushText(Span text, Buffer<char> &out);

  const sdc_text &text;
  bool skipSpecial;
  bool wholeRuns;

  bool atFirst = true;
  /// Bytes that are no whole character yet.
  Buffer<char> run;
  /// Strip: how many more may leave the beginning, and whether it still is;
  /// how many at the end are held back.
  bool atBeginning = true;
  uint32_t strippedAtStart = 0;
  uint32_t heldAtStop = 0;
  // The token at hand.
  Buffer<char> token;
  Buffer<char> nextToken;
};

} // namespace sdc::text

#endif // SDC_RUNTIME_TEXT_DECODE_H
