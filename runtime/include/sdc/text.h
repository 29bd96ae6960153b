/* Text for a model: a tokenizer, its inverse for streams, and chat templates.
 * A second, small library beside sdc.h: it knows the text segment of an
 * executable and nothing else, and can be linked without the runtime.
 *
 * Ownership and lifetime
 *   Bytes given to sdc_text_open are borrowed: they stay valid and unchanged
 *   until sdc_text_close. Every other input is read during the call only.
 *   Blocks that come back through out_ids and out_text belong to the caller,
 *   who gives them to sdc_text_free. Views (sdc_text_view) that come back are
 *   borrowed: those of an sdc_text live as long as it does, those of a stream
 *   until the next call on that stream. Views need no terminating zero.
 *
 *     sdc_text *text;
 *     sdc_text_error error;
 *     if (sdc_text_open(bytes, size, NULL, &text, &error) != SDC_TEXT_OK)
 *       return fail(error.message);
 *     int32_t *ids;
 *     size_t count;
 *     if (sdc_text_encode(text, prompt, NULL, &ids, &count, &error) == ...)
 *       ...
 *     sdc_text_free(text, ids);
 *     sdc_text_close(text);
 *
 * Threads
 *   An sdc_text is immutable: any number of threads may use one. A stream
 *   belongs to one thread at a time.
 *
 * Errors
 *   Every call that can fail returns a status. On failure no out_ argument is
 *   set, except out_error, which may be NULL and gets one line for people.
 *
 * Memory
 *   All of it comes from the allocator of sdc_text_open_options. Memory that
 *   holds translated patterns is the exception: PCRE2 maps it by itself, and
 *   where that is forbidden patterns are interpreted.
 */
#ifndef SDC_TEXT_H
#define SDC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- Status --------------------------------------------------------------- */

typedef enum sdc_text_status {
  SDC_TEXT_OK = 0,

  /* 1-9: what the caller gave. */
  SDC_TEXT_INVALID_ARGUMENT = 1,
  SDC_TEXT_INVALID_UTF8 = 2,
  SDC_TEXT_TOO_LONG = 3,

  /* 10-19: what the file holds. */
  SDC_TEXT_BAD_FILE = 10,
  SDC_TEXT_NO_TEMPLATE = 11,
  SDC_TEXT_TEMPLATE_ERROR = 12, /* the template failed, or refused */

  /* 20-29: what the machine has. */
  SDC_TEXT_OUT_OF_MEMORY = 20,
  SDC_TEXT_PATTERN_LIMIT = 21 /* a pattern went beyond PCRE2's limits */
} sdc_text_status;

typedef struct sdc_text_error {
  char message[256]; /* zero-terminated */
} sdc_text_error;

/* The name of a status, as in "SDC_TEXT_BAD_FILE". */
const char *sdc_text_status_name(sdc_text_status status);

/* -- Opening -------------------------------------------------------------- */

typedef struct sdc_text sdc_text;

typedef struct sdc_text_view {
  const char *data; /* UTF-8; may be NULL when size is 0 */
  size_t size;      /* bytes */
} sdc_text_view;

typedef struct sdc_text_open_options {
  size_t size; /* of this struct */
  /* As realloc, and as free when size is 0; NULL: those of libc. Called from
   * whichever thread calls into this library. */
  void *(*reallocate)(void *user, void *block, size_t size);
  void *user;
} sdc_text_open_options;

/* Verifies the bytes, then every index in them. `bytes` is aligned to 8. */
sdc_text_status sdc_text_open(const void *bytes, size_t size,
                              const sdc_text_open_options *options,
                              sdc_text **out_text, sdc_text_error *out_error);
void sdc_text_close(sdc_text *text); /* NULL is fine */

/* Gives back a block that a call on `text` made. NULL is fine. */
void sdc_text_free(const sdc_text *text, void *block);

/* -- What is in the file -------------------------------------------------- */

/* One more than the largest id that has a token. */
int32_t sdc_text_vocab_size(const sdc_text *text);

/* A token as it is written in the vocabulary; empty for an id without one. */
sdc_text_view sdc_text_token(const sdc_text *text, int32_t id);

/* The id of a token as it is written in the vocabulary, or -1. */
int32_t sdc_text_find_token(const sdc_text *text, sdc_text_view token);

bool sdc_text_is_special(const sdc_text *text, int32_t id);

/* The ids that end a text: every eos of the model. */
void sdc_text_stop_ids(const sdc_text *text, const int32_t **out_ids,
                       size_t *out_count);

bool sdc_text_has_template(const sdc_text *text);

/* -- Text to ids ---------------------------------------------------------- */

typedef struct sdc_text_encode_options {
  size_t size; /* of this struct */
  /* Special tokens written in the text become their ids; otherwise they are
   * text like any other, as is right for what a user typed. */
  bool parse_special;
  /* Adds what the tokenizer puts around a text (bos, eos). Leave it off for
   * what a chat template made: that holds its bos already. */
  bool add_special;
} sdc_text_encode_options;

/* Text must be valid UTF-8. NULL options: both flags off. *out_ids is never
 * NULL. */
sdc_text_status sdc_text_encode(const sdc_text *text, sdc_text_view input,
                                const sdc_text_encode_options *options,
                                int32_t **out_ids, size_t *out_count,
                                sdc_text_error *out_error);

/* -- Ids to text ---------------------------------------------------------- */

/* The whole text of `ids`, which is valid UTF-8: bytes that form no character
 * become U+FFFD. Ids without a token give nothing. *out_text is zero-terminated
 * and never NULL; the zero is not counted. */
sdc_text_status sdc_text_decode(const sdc_text *text, const int32_t *ids,
                                size_t count, bool skip_special,
                                char **out_text, size_t *out_size,
                                sdc_text_error *out_error);

/* Ids that come one by one. A stream gives out whole characters, and nothing
 * that may yet turn out to begin a stop string. */
typedef struct sdc_text_stream sdc_text_stream;

typedef struct sdc_text_stream_options {
  size_t size; /* of this struct */
  bool skip_special;
  /* The text ends before the first of these, wherever tokens begin and end.
   * Copied. None may be empty. */
  const sdc_text_view *stops;
  size_t stop_count;
} sdc_text_stream_options;

/* The stream uses `text`, which must outlive it. */
sdc_text_status sdc_text_stream_create(const sdc_text *text,
                                       const sdc_text_stream_options *options,
                                       sdc_text_stream **out_stream,
                                       sdc_text_error *out_error);
void sdc_text_stream_destroy(sdc_text_stream *stream); /* NULL is fine */

/* Adds one id; *out_piece is what can be shown now, maybe empty. *out_stopped
 * says that a stop string was met: the piece ends before it, and pushes after
 * it are refused until a reset. */
sdc_text_status sdc_text_stream_push(sdc_text_stream *stream, int32_t id,
                                     sdc_text_view *out_piece,
                                     bool *out_stopped,
                                     sdc_text_error *out_error);

/* The text is over: what was held back. Then only a reset is left. */
sdc_text_status sdc_text_stream_finish(sdc_text_stream *stream,
                                       sdc_text_view *out_piece,
                                       bool *out_stopped,
                                       sdc_text_error *out_error);
void sdc_text_stream_reset(sdc_text_stream *stream);

/* -- Chat templates ------------------------------------------------------- */

typedef struct sdc_text_message {
  sdc_text_view role;
  sdc_text_view content;
} sdc_text_message;

typedef enum sdc_text_variable_kind {
  SDC_TEXT_VARIABLE_STRING = 0,
  SDC_TEXT_VARIABLE_BOOL = 1,
  SDC_TEXT_VARIABLE_INT = 2,
  SDC_TEXT_VARIABLE_NONE = 3
} sdc_text_variable_kind;

/* A variable that the template may read, such as enable_thinking. */
typedef struct sdc_text_variable {
  sdc_text_view name;
  sdc_text_variable_kind kind;
  sdc_text_view string; /* of a STRING */
  int64_t integer;      /* of an INT; of a BOOL: 0 or 1 */
} sdc_text_variable;

typedef struct sdc_text_template_options {
  size_t size; /* of this struct */
  /* Ends the text where the assistant's answer begins. */
  bool add_generation_prompt;
  const sdc_text_variable *variables;
  size_t variable_count;
  /* What strftime_now sees, in seconds since 1970, local time; negative: the
   * clock. */
  int64_t now;
} sdc_text_template_options;

/* NULL options: no generation prompt, no variables, the clock. *out_text is
 * zero-terminated and never NULL; the zero is not counted. */
sdc_text_status sdc_text_apply_template(
    const sdc_text *text, const sdc_text_message *messages,
    size_t message_count, const sdc_text_template_options *options,
    char **out_text, size_t *out_size, sdc_text_error *out_error);

#ifdef __cplusplus
}
#endif

#endif /* SDC_TEXT_H */
