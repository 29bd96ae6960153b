// The public interface of the runtime, in C11: all that a host needs to open an
// executable and write text with it.
//
// Ownership
//   - A handle (sdc_model, sdc_session) belongs to whoever made it, until it is
//     given to its _close or _destroy, which accept null. A session keeps its
//     model alive: the two may go in any order.
//   - What the caller passes in stays the caller's and is not kept after the
//     call, with two exceptions that must outlive the handle: the bytes of
//     sdc_model_open_memory, and the `user` pointers of allocators and
//     callbacks.
//   - Pointers that come out of a model (names, notes, text, weights) live as
//     long as the model; pointers out of a session (logits, tokens, steps) live
//     until the next call on it that is not a query.
//   - All memory comes from the caller's allocator, if one is given; a session
//     takes all of its own when it is created, and nothing allocates after.
//     Not counted: mapped files, the stacks of the session's threads, and what
//     the CUDA driver takes for itself.
//
// Threads
//   - A model never changes and serves any number of threads and sessions.
//   - A session belongs to one thread at a time. The one exception is
//     sdc_session_cancel, which may be called from any thread.
//   - Callbacks run on the thread that made the call.
//
// Results and errors
//   - A function that can fail returns a status. Results go through trailing
//     out_ pointers and are written only on SDC_OK.
//   - The last parameter takes a code and a message (lower-case, no full stop,
//     names the thing at fault, expected and got); it may be null.
//   - After a failure the handle is as it was before the call, unless the
//     function says otherwise.
//
// Structs
//   - The first member of every struct that may grow is its size. Set it, or
//     the call fails; a struct that is otherwise zero asks for the defaults,
//     and where a pointer to options may be null, null does the same:
//
//       sdc_session_options options = {sizeof(options)};
//       options.threads = 4;
//
// An executable holds machine code: opening one trusts its author.

#ifndef SDC_SDC_H
#define SDC_SDC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define SDC_API __attribute__((visibility("default")))
#define SDC_NODISCARD __attribute__((warn_unused_result))
#else
#define SDC_API
#define SDC_NODISCARD
#endif

//===- Versions -----------------------------------------------------------===//

/// Rises by one when a host must be compiled again; structs that grow at their
/// end and new functions do not raise it.
#define SDC_ABI_VERSION 1

/// SDC_ABI_VERSION of the library that is linked.
SDC_API uint32_t sdc_abi_version(void);

/// The file format that the library reads: files of this major, and any minor.
SDC_API void sdc_format_version(uint32_t *out_major, uint32_t *out_minor);

//===- Errors -------------------------------------------------------------===//

/// What went wrong, in ranges by who can mend it. Numbers never change.
typedef enum sdc_status {
  SDC_OK = 0,

  // 100 to 199: the file.
  SDC_NOT_EXECUTABLE = 100, // not a file of this kind
  SDC_WRONG_MAJOR = 101,    // made for another major version of the format
  SDC_TRUNCATED = 102,      // shorter or longer than it says
  SDC_CORRUPT = 103,        // a digest differs
  SDC_MALFORMED = 104,      // contradicts itself
  SDC_WRONG_MODEL = 105,    // a saved slot of another model

  // 200 to 299: the call.
  SDC_BAD_ARGUMENT = 200,
  SDC_MISALIGNED = 201,   // bytes do not start at a multiple of 64
  SDC_BAD_TOKEN = 202,    // a token id outside the vocabulary
  SDC_CONTEXT_FULL = 203, // more tokens than the slot has room for
  SDC_NO_LOGITS = 204,    // the slot has no logits at the moment
  SDC_NOT_COMPILED = 205, // the executable has no entry for this call
  SDC_BAD_TENSOR = 206,   // unknown name, other element type, other shape
  SDC_TOO_SMALL = 207,    // a buffer of the caller

  // 300 to 399: the machine.
  SDC_OUT_OF_MEMORY = 300,
  SDC_IO = 301,             // the system refused a file; the message says why
  SDC_NO_IMAGE = 302,       // no code in the file for this machine
  SDC_NO_DEVICE = 303,      // no such device here
  SDC_CODE_FORBIDDEN = 304, // the system refuses to map code
  SDC_NO_THREADS = 305,     // the system refuses more threads
  SDC_DEVICE_FAILED = 306,  // a call of the CUDA driver; the message names it

  // 400 to 499: not errors.
  SDC_CANCELLED = 400, // by sdc_session_cancel
} sdc_status;

/// The name of a status, as above; "unknown" for other numbers.
SDC_API const char *sdc_status_name(sdc_status status);

/// Says more about a failure. Untouched on success.
typedef struct sdc_error {
  sdc_status code;
  char message[508]; // ends with a zero, shortened if need be
} sdc_error;

//===- Services of the host -----------------------------------------------===//

/// Where memory comes from. Without one, the system's.
typedef struct sdc_allocator {
  size_t struct_size;
  void *user;
  /// `alignment` is a power of two, `bytes` a multiple of it. Null on failure.
  void *(*allocate)(void *user, size_t bytes, size_t alignment);
  /// What allocate returned, with the same numbers.
  void (*release)(void *user, void *memory, size_t bytes, size_t alignment);
  /// allocate gives zeros: the KV memory need not be cleared, and pages that
  /// are never used need not be there.
  bool zeroed;
} sdc_allocator;

typedef enum sdc_log_level {
  SDC_LOG_INFO = 0,    // what was chosen, and why
  SDC_LOG_WARNING = 1, // what is not as good as it could be
} sdc_log_level;

/// Takes one line, without a newline at its end.
typedef void (*sdc_log_fn)(void *user, sdc_log_level level,
                           const char *message);

/// What this machine is to the runtime.
typedef struct sdc_cpu_info {
  size_t struct_size;
  /// The best level that this machine runs: "avx512vbmi2", "avx2"; empty if
  /// none.
  const char *level;
  /// Physical cores and logical processors that this process may use.
  uint32_t cores;
  uint32_t processors;
} sdc_cpu_info;

SDC_API void sdc_cpu_query(sdc_cpu_info *out_info);

/// A CUDA device of this machine.
typedef struct sdc_cuda_info {
  size_t struct_size;
  char name[128];
  /// Compute capability, and the CUDA version of the driver.
  uint32_t major, minor;
  uint32_t driver_major, driver_minor;
  uint32_t multiprocessors;
  uint64_t memory;
} sdc_cuda_info;

/// Number of CUDA devices. SDC_NO_DEVICE, with the reason, if there is no
/// driver or no device.
SDC_API SDC_NODISCARD sdc_status sdc_cuda_count(uint32_t *out_count,
                                                sdc_error *out_error);
SDC_API SDC_NODISCARD sdc_status sdc_cuda_query(uint32_t index,
                                                sdc_cuda_info *out_info,
                                                sdc_error *out_error);

//===- Models -------------------------------------------------------------===//

/// An open executable.
typedef struct sdc_model sdc_model;

/// A function of the generated code. Units [begin, end) of a launch; `scratch`
/// belongs to the calling thread and is 64-byte aligned.
typedef void (*sdc_kernel)(void *const *operands, int64_t begin, int64_t end,
                           void *scratch);

enum {
  /// Check the digests of the weights too: reads the whole file.
  SDC_OPEN_VERIFY_WEIGHTS = 1,
  /// Leave the code alone: works on any machine, and no session can be made.
  SDC_OPEN_WITHOUT_CODE = 2,
};

typedef struct sdc_open_options {
  size_t struct_size;
  uint32_t flags;
  const sdc_allocator *allocator; // copied
  sdc_log_fn log;
  void *log_user;
  /// Take the image of this level instead of the best one.
  const char *level;
  /// Kernels of the host, in the order of the file; the images of the file are
  /// then not used.
  const sdc_kernel *kernels;
  uint32_t kernel_count;
} sdc_open_options;

/// Maps the file and checks it: structure, meaning, the digests of header,
/// root, code and text. A file must not be changed while it is open.
SDC_API SDC_NODISCARD sdc_status sdc_model_open(const char *path,
                                                const sdc_open_options *options,
                                                sdc_model **out_model,
                                                sdc_error *out_error);

/// The same for bytes that start at a multiple of 64. Code is copied once,
/// weights are read in place.
SDC_API SDC_NODISCARD sdc_status sdc_model_open_memory(
    const void *bytes, size_t size, const sdc_open_options *options,
    sdc_model **out_model, sdc_error *out_error);

/// The code of one level in a host that an executable was linked into.
typedef struct sdc_static_image {
  const char *level;
  const sdc_kernel *kernels; // in the order of the file
} sdc_static_image;

/// An executable that the host was linked with. `sdc compile --emit object -o
/// NAME.o` writes the object that holds one, and NAME.h, which declares it as
/// NAME_sdx.
typedef struct sdc_static_model {
  size_t struct_size;
  const void *bytes; // of the executable, page-aligned
  uint64_t size;
  const sdc_static_image *images;
  uint32_t image_count;
  uint32_t kernel_count;
} sdc_static_model;

/// The same for an executable that the host was linked with. Nothing is mapped
/// or copied, so it works where the system refuses to map code.
SDC_API SDC_NODISCARD sdc_status sdc_model_open_static(
    const sdc_static_model *linked, const sdc_open_options *options,
    sdc_model **out_model, sdc_error *out_error);

/// Checks the digests of all segments.
SDC_API SDC_NODISCARD sdc_status
sdc_model_verify_weights(const sdc_model *model, sdc_error *out_error);

SDC_API void sdc_model_close(sdc_model *model);

//===- What a model says about itself -------------------------------------===//

// Strings are never null. Info functions fill as much of a struct as its
// struct_size covers and return false if there is no such index.

typedef enum sdc_element {
  SDC_F32 = 0,
  SDC_F16 = 1,
  SDC_BF16 = 2,
  SDC_I8 = 3,
  SDC_U8 = 4,
  SDC_I32 = 5,
  SDC_I64 = 6,
  SDC_BOOL = 7,
  SDC_F64 = 8,
  SDC_I16 = 9,
} sdc_element;

/// "f32", "bf16", ...
SDC_API const char *sdc_element_name(sdc_element element);
SDC_API size_t sdc_element_size(sdc_element element);

typedef enum sdc_device_kind {
  SDC_DEVICE_CPU = 0,
  SDC_DEVICE_CUDA = 1,
} sdc_device_kind;

typedef struct sdc_model_info {
  size_t struct_size;
  const char *name;
  uint32_t layers;
  uint32_t hidden;
  uint32_t vocabulary;
  uint32_t batch;         // slots compiled for
  uint32_t context;       // positions compiled for
  uint32_t model_context; // that the model was made for; 0 if not known
  uint32_t prefill_chunk;
  /// A recording build: steps have taps.
  bool recording;
  /// A plain graph: has no state and runs by sdc_run.
  bool plain;
  /// Prefill can give the logits of all rows.
  bool all_logits;
  uint32_t weight_count;
  uint32_t state_count;
  uint32_t kernel_count;
  uint32_t image_count;
  uint32_t entry_count;
  uint32_t segment_count;
  uint32_t format_minor;
  uint64_t file_size;
  uint64_t weight_bytes; // of all weights, as stored
  /// Of the root, and so of the whole content; names the executable.
  uint64_t digest;
  /// Level of the image in use; empty if none is. Of a CUDA executable, that
  /// of its image if it has one only: devices choose for themselves.
  const char *level;
  // How the file came to be.
  const char *tool_version;
  const char *model_digest;
  const char *calibration_digest;
  uint64_t decode_positions, prompt_positions, first_positions;
  uint32_t flag_count; // sdc_model_flag
  uint32_t note_count; // sdc_model_note
  /// What it was compiled for.
  sdc_device_kind device;
} sdc_model_info;

SDC_API void sdc_model_query(const sdc_model *model, sdc_model_info *out_info);

/// Normalised flags of the compile, and what was not done as asked; empty if
/// there is no such index.
SDC_API const char *sdc_model_flag(const sdc_model *model, uint32_t index);
SDC_API const char *sdc_model_note(const sdc_model *model, uint32_t index);

typedef struct sdc_weight_info {
  size_t struct_size;
  const char *name;
  sdc_element element;
  uint32_t rank;
  const int64_t *shape; // [rows, K] of a linear
  uint32_t pattern_n;   // 0 and 0 for dense
  uint32_t pattern_m;
  const char *tile; // empty for row-major
  uint64_t bytes;
  const void *data; // null if it is generated
  uint32_t segment;
  uint32_t note_count; // sdc_model_weight_note
  // How it was pruned; `method` is empty if it was not.
  const char *method;
  double damping;
  double loss;
  double relative_loss;
  uint32_t pruning_note_count; // sdc_model_pruning_note
} sdc_weight_info;

SDC_API bool sdc_model_weight(const sdc_model *model, uint32_t index,
                              sdc_weight_info *out_info);
SDC_API const char *sdc_model_weight_note(const sdc_model *model,
                                          uint32_t weight, uint32_t index);
SDC_API const char *sdc_model_pruning_note(const sdc_model *model,
                                           uint32_t weight, uint32_t index);

/// The keys or values of one layer: [slots, heads, context, head_size].
typedef struct sdc_state_info {
  size_t struct_size;
  const char *name;
  const char *past_name; // ONNX names, empty if not known
  const char *present_name;
  uint32_t heads;
  uint32_t head_size;
  sdc_element element;
  uint64_t row_bytes; // of one position, all heads
} sdc_state_info;

SDC_API bool sdc_model_state(const sdc_model *model, uint32_t index,
                             sdc_state_info *out_info);

typedef enum sdc_segment_kind {
  SDC_SEGMENT_WEIGHTS = 0,
  SDC_SEGMENT_CODE = 1,
  SDC_SEGMENT_TEXT = 2,
  SDC_SEGMENT_GENERATED = 3, // not in the file: filled by the device
} sdc_segment_kind;

typedef struct sdc_segment_info {
  size_t struct_size;
  sdc_segment_kind kind;
  uint64_t offset;
  uint64_t bytes;
  uint64_t digest;
} sdc_segment_info;

SDC_API bool sdc_model_segment(const sdc_model *model, uint32_t index,
                               sdc_segment_info *out_info);

typedef struct sdc_image_info {
  size_t struct_size;
  const char *level;
  uint32_t segment;
  uint64_t code_size;
} sdc_image_info;

SDC_API bool sdc_model_image(const sdc_model *model, uint32_t index,
                             sdc_image_info *out_info);

typedef struct sdc_kernel_info {
  size_t struct_size;
  const char *name;
  uint64_t scratch_size;
} sdc_kernel_info;

SDC_API bool sdc_model_kernel(const sdc_model *model, uint32_t index,
                              sdc_kernel_info *out_info);

typedef enum sdc_entry_kind {
  SDC_ENTRY_DECODE = 0,
  SDC_ENTRY_PREFILL = 1,
  SDC_ENTRY_PLAIN = 2,
} sdc_entry_kind;

typedef struct sdc_entry_info {
  size_t struct_size;
  const char *name;
  sdc_entry_kind kind;
  uint32_t batch;
  uint32_t rows; // of each sequence
  bool all_logits;
  uint64_t arena_size;
  uint32_t binding_count;
  uint32_t launch_count;
} sdc_entry_info;

SDC_API bool sdc_model_entry(const sdc_model *model, uint32_t index,
                             sdc_entry_info *out_info);

typedef enum sdc_role {
  SDC_ROLE_TOKENS = 0,
  SDC_ROLE_POSITIONS = 1,
  SDC_ROLE_SLOTS = 2,
  SDC_ROLE_LOGITS = 3,
  SDC_ROLE_INPUT = 4,
  SDC_ROLE_OUTPUT = 5,
  SDC_ROLE_TAP = 6,
} sdc_role;

typedef struct sdc_binding_info {
  size_t struct_size;
  sdc_role role;
  const char *name;
  sdc_element element;
  uint32_t rank;
  const int64_t *shape;
  uint64_t bytes;
} sdc_binding_info;

SDC_API bool sdc_model_binding(const sdc_model *model, uint32_t entry,
                               uint32_t index, sdc_binding_info *out_info);

typedef struct sdc_launch_info {
  size_t struct_size;
  const char *label;
  uint32_t kernel;
  uint32_t units;
  uint32_t operand_count;
  /// Bytes of the weights among its operands.
  uint64_t weight_bytes;
} sdc_launch_info;

SDC_API bool sdc_model_launch(const sdc_model *model, uint32_t entry,
                              uint32_t index, sdc_launch_info *out_info);

/// The flat table of tokenizer, template and stop tokens that the text library
/// reads; null if the executable has none.
SDC_API const void *sdc_model_text(const sdc_model *model, size_t *out_size);

//===- Sessions -----------------------------------------------------------===//

/// Slots with KV memory, and the threads that work on them.
typedef struct sdc_session sdc_session;

/// An input of a linear. `key` is its key in the calibration file.
typedef struct sdc_tap {
  const char *key;
  uint32_t columns;
  const float *values;
} sdc_tap;

/// After the run of an entry: what went in and what came out. The pointers
/// live until the next run.
typedef struct sdc_step {
  size_t struct_size;
  sdc_entry_kind kind;
  /// Rows of the entry. A row with position -1 is not active: ignore it.
  uint32_t rows;
  const int32_t *tokens;
  const int32_t *positions;
  const int32_t *slots;
  uint32_t vocabulary;
  /// [rows, vocabulary] if logit_rows is `rows`; if it is 1 and rows is more,
  /// those of the last active row.
  uint32_t logit_rows;
  const float *logits;
  /// f32 [rows, columns] each; none but in a recording build.
  uint32_t tap_count;
  const sdc_tap *taps;
} sdc_step;

typedef void (*sdc_step_fn)(void *user, const sdc_step *step);

typedef struct sdc_session_options {
  size_t struct_size;
  sdc_device_kind device;
  uint32_t device_index;
  /// 0: one for each physical core that the process may use. The calling
  /// thread is one of them.
  uint32_t threads;
  /// Slots and positions of each, at most what was compiled; 0: as compiled.
  uint32_t slots;
  uint32_t context;
  const sdc_allocator *allocator; // copied
  /// CUstream to work on, of the device's primary context; null on CPU, and for
  /// a stream of the session's own.
  void *stream;
  /// Called after each run of an entry: after a decode, after each chunk of a
  /// prefill.
  sdc_step_fn on_step;
  void *on_step_user;
  /// Measure each launch (sdc_session_launch_time). On CUDA a step is then a
  /// row of single launches with an event after each, and no graph.
  bool profile;
  /// Where the session's memory on a CUDA device comes from, as addresses of
  /// the device, in its primary context; null: the driver. Copied.
  const sdc_allocator *device_allocator;
} sdc_session_options;

/// Bytes that a session takes. `states` grows with slots and context. On CUDA
/// `states` and `arena` are on the device.
typedef struct sdc_memory {
  size_t struct_size;
  uint64_t states;
  uint64_t arena;
  uint64_t scratch;
  uint64_t other;
  /// All of them, to the byte; what the allocator will be asked for.
  uint64_t total;
  /// Weights: mapped from the file and shared by all sessions of the model.
  uint64_t weights;
  /// On a CUDA device: what the session asks the device for, in one piece, and
  /// what the weights take there, once for all sessions of the model, until it
  /// is closed.
  uint64_t device;
  uint64_t device_weights;
  /// Host memory that the driver pins for the session; for the time of an
  /// upload there is more.
  uint64_t pinned;
} sdc_memory;

/// Says what a session with these options would take; allocates nothing.
SDC_API SDC_NODISCARD sdc_status
sdc_session_memory(const sdc_model *model, const sdc_session_options *options,
                   sdc_memory *out_memory, sdc_error *out_error);

SDC_API SDC_NODISCARD sdc_status
sdc_session_create(sdc_model *model, const sdc_session_options *options,
                   sdc_session **out_session, sdc_error *out_error);

SDC_API void sdc_session_destroy(sdc_session *session);

SDC_API const sdc_model *sdc_session_model(const sdc_session *session);
SDC_API uint32_t sdc_session_slots(const sdc_session *session);
SDC_API uint32_t sdc_session_context(const sdc_session *session);
SDC_API uint32_t sdc_session_threads(const sdc_session *session);

/// Makes the call in progress, or the next one, return SDC_CANCELLED soon:
/// prefill, decode, generate, run. From any thread, also from a signal handler.
/// The request is spent when a call has returned so.
SDC_API void sdc_session_cancel(sdc_session *session);

/// Takes back a request that no call has met.
SDC_API void sdc_session_clear_cancel(sdc_session *session);

//===- Steps --------------------------------------------------------------===//

// A slot holds one sequence: the tokens fed so far and their keys and values.
// A new session's slots are empty. Slots do not see each other: what comes out
// of one does not depend, to the bit, on what the others do.

/// Feeds `count` tokens to a slot, in chunks. Afterwards the slot has the
/// logits of the last one. On SDC_CANCELLED the chunks that were done stay;
/// sdc_slot_length tells.
SDC_API SDC_NODISCARD sdc_status sdc_prefill(sdc_session *session,
                                             uint32_t slot,
                                             const int32_t *tokens,
                                             size_t count,
                                             sdc_error *out_error);

/// The same, and the logits of all rows into `logits`, [count, vocabulary].
/// SDC_NOT_COMPILED without `--all-logits`.
SDC_API SDC_NODISCARD sdc_status sdc_prefill_all_logits(
    sdc_session *session, uint32_t slot, const int32_t *tokens, size_t count,
    float *logits, sdc_error *out_error);

/// Not a token: a slot that sits a decode out.
#define SDC_NO_TOKEN (-1)

/// Feeds one token to each slot, `tokens[slot]`, or SDC_NO_TOKEN. Slots that
/// took part have new logits, the others have none. On SDC_CANCELLED no slot
/// has advanced, and none has logits.
SDC_API SDC_NODISCARD sdc_status sdc_decode(sdc_session *session,
                                            const int32_t *tokens,
                                            sdc_error *out_error);

/// The last run of an entry; null before the first.
SDC_API const sdc_step *sdc_session_last_step(const sdc_session *session);

/// The logits after the slot's last token, [vocabulary]; null if it has none.
/// A decode gives and takes them (see there), a prefill gives them to its slot
/// and leaves the others alone. May be changed in place before sampling.
SDC_API float *sdc_slot_logits(sdc_session *session, uint32_t slot);

/// Number of tokens in a slot, and the tokens.
SDC_API uint32_t sdc_slot_length(const sdc_session *session, uint32_t slot);
SDC_API const int32_t *sdc_slot_tokens(const sdc_session *session,
                                       uint32_t slot);

//===- Sampling -----------------------------------------------------------===//

/// How a token is chosen. Zero everywhere is greedy: the largest logit, the
/// lowest id among equals. Otherwise, in this order:
///
///   1. repeat_penalty p: each distinct token among the last `repeat_window`
///      tokens of the slot has its logit divided by p if positive, else
///      multiplied by p;
///   2. logits are divided by `temperature`;
///   3. top_k: the k largest stay;
///   4. top_p: of those, sorted and with their probabilities renormalised, the
///      shortest prefix whose sum reaches top_p stays;
///   5. min_p: of those, the ones with at least min_p times the probability of
///      the most likely stay;
///   6. one is drawn by its probability, renormalised.
///
/// Equal logits are sorted by id. NaN counts as minus infinity. The draw is
///
///   Philox4x32-10(key = seed, counter = {step, pass, prompt}), words 0 and 1,
///
/// where seed and prompt are split into low and high words, u = (word0 * 2^21 +
/// word1 / 2^11) * 2^-53, and the token is the first in order whose cumulative
/// probability exceeds u. So a token depends on its logits, these numbers and
/// nothing else: not on the slot, the batch, the threads or the machine.
typedef struct sdc_sampling {
  size_t struct_size;
  float temperature;      // 0: greedy
  uint32_t top_k;         // 0: off
  float top_p;            // 0 or >= 1: off
  float min_p;            // 0: off
  float repeat_penalty;   // 0 or 1: off
  uint32_t repeat_window; // 0: all tokens of the slot
  uint64_t seed;
  uint64_t prompt; // which prompt, when there are many
  uint32_t pass;   // which pass over it
  /// Zero. Other structs hold this one, so it grows in here alone.
  uint32_t reserved[9];
} sdc_sampling;

/// Chooses the token that follows the slot's last. `step` counts the tokens
/// written after the prompt, from 0. Null `sampling` is greedy.
SDC_API SDC_NODISCARD sdc_status sdc_slot_sample(
    sdc_session *session, uint32_t slot, const sdc_sampling *sampling,
    uint32_t step, int32_t *out_token, sdc_error *out_error);

//===- KV memory ----------------------------------------------------------===//

/// Forgets all tokens from `length` on, at most the slot's; 0 empties it. The
/// slot has no logits until it is fed again.
SDC_API SDC_NODISCARD sdc_status sdc_slot_rewind(sdc_session *session,
                                                 uint32_t slot, uint32_t length,
                                                 sdc_error *out_error);

/// Makes `to` a copy of `from`: tokens, keys and values, logits.
SDC_API SDC_NODISCARD sdc_status sdc_slot_fork(sdc_session *session,
                                               uint32_t from, uint32_t to,
                                               sdc_error *out_error);

/// A saved slot: tokens, keys and values, digests; no logits. It can be loaded
/// into any slot with enough context of a session of the same executable; one
/// of another is SDC_WRONG_MODEL. After a failed load the slot is as before.
SDC_API uint64_t sdc_slot_save_size(const sdc_session *session, uint32_t slot);
SDC_API SDC_NODISCARD sdc_status sdc_slot_save(const sdc_session *session,
                                               uint32_t slot, void *buffer,
                                               size_t size,
                                               sdc_error *out_error);
SDC_API SDC_NODISCARD sdc_status sdc_slot_load(sdc_session *session,
                                               uint32_t slot,
                                               const void *buffer, size_t size,
                                               sdc_error *out_error);

/// The same with a file, which appears under its name only when it is whole.
SDC_API SDC_NODISCARD sdc_status sdc_slot_save_file(const sdc_session *session,
                                                    uint32_t slot,
                                                    const char *path,
                                                    sdc_error *out_error);
SDC_API SDC_NODISCARD sdc_status sdc_slot_load_file(sdc_session *session,
                                                    uint32_t slot,
                                                    const char *path,
                                                    sdc_error *out_error);

/// Reads or writes positions [first, first + count) of one state of a slot,
/// as [heads, count, head_size] of its element type; `size` is the exact number
/// of bytes. Any position of the session's context may be written; they count
/// once sdc_slot_set_tokens says so.
SDC_API SDC_NODISCARD sdc_status sdc_slot_read_state(
    const sdc_session *session, uint32_t slot, uint32_t state, uint32_t first,
    uint32_t count, void *buffer, size_t size, sdc_error *out_error);
SDC_API SDC_NODISCARD sdc_status sdc_slot_write_state(
    sdc_session *session, uint32_t slot, uint32_t state, uint32_t first,
    uint32_t count, const void *buffer, size_t size, sdc_error *out_error);

/// Declares that the slot holds `count` tokens, whose keys and values are those
/// in memory. `tokens` may be null if they are not known (then they are taken
/// as 0, which matters to repeat_penalty alone).
SDC_API SDC_NODISCARD sdc_status sdc_slot_set_tokens(sdc_session *session,
                                                     uint32_t slot,
                                                     const int32_t *tokens,
                                                     uint32_t count,
                                                     sdc_error *out_error);

//===- The loop -----------------------------------------------------------===//

typedef enum sdc_stop_reason {
  SDC_STOP_TOKEN = 0,    // a token of stop_tokens was chosen
  SDC_STOP_LENGTH = 1,   // max_new tokens were written
  SDC_STOP_CONTEXT = 2,  // the slot is full
  SDC_STOP_CALLBACK = 3, // on_token said so
  SDC_STOP_CANCELLED = 4 // sdc_session_cancel
} sdc_stop_reason;

/// Takes a token as it is chosen; false stops.
typedef bool (*sdc_token_fn)(void *user, int32_t token);

typedef struct sdc_generate_options {
  size_t struct_size;
  sdc_sampling sampling; // zero as a whole: greedy
  /// Tokens to write at most; 0: until something else stops.
  uint32_t max_new;
  const int32_t *stop_tokens;
  size_t stop_token_count;
  /// Not called for stop tokens.
  sdc_token_fn on_token;
  void *on_token_user;
} sdc_generate_options;

typedef struct sdc_generate_result {
  size_t struct_size;
  sdc_stop_reason reason;
  /// Tokens given to on_token.
  uint32_t written;
  /// The stop token that was chosen, or SDC_NO_TOKEN.
  int32_t stop_token;
  double prefill_seconds;
  double decode_seconds;
  /// Where tokens were chosen. On CUDA greedy ones are chosen on the device,
  /// which then goes on without waiting for the host; sampled ones on the host.
  sdc_device_kind chosen_on;
} sdc_generate_result;

/// Feeds the prompt to a slot, after what it holds, and writes until something
/// stops. Without a prompt it goes on from the logits of the slot. The last token written is not fed. Being cancelled is a reason to
/// stop, not an error.
SDC_API SDC_NODISCARD sdc_status
sdc_generate(sdc_session *session, uint32_t slot, const int32_t *prompt,
             size_t count, const sdc_generate_options *options,
             sdc_generate_result *out_result, sdc_error *out_error);

//===- Plain graphs -------------------------------------------------------===//

/// A tensor of the caller, row-major.
typedef struct sdc_tensor {
  const char *name;
  sdc_element element;
  uint32_t rank;
  const int64_t *shape;
  void *data;
  size_t bytes;
} sdc_tensor;

/// Runs a plain graph: all of its inputs, any of its outputs. Names, element
/// types, shapes and bytes must be those of the bindings; the data of outputs
/// is written.
SDC_API SDC_NODISCARD sdc_status
sdc_run(sdc_session *session, const sdc_tensor *inputs, size_t input_count,
        const sdc_tensor *outputs, size_t output_count, sdc_error *out_error);

//===- Profiles -----------------------------------------------------------===//

/// Time spent in a launch since the session was made or the profile cleared.
typedef struct sdc_launch_time {
  size_t struct_size;
  uint64_t runs;
  uint64_t nanoseconds;
} sdc_launch_time;

/// False if there is no such launch or the session does not measure.
SDC_API bool sdc_session_launch_time(const sdc_session *session, uint32_t entry,
                                     uint32_t launch,
                                     sdc_launch_time *out_time);
SDC_API void sdc_session_clear_profile(sdc_session *session);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // SDC_SDC_H
