// The public header for C++17: handles that close themselves, and nothing more.
// No exceptions, no C++ library: what fails returns a status and fills an error,
// as in sdc.h, whose functions take a handle by get().
//
//   sdc::runtime::Model model;
//   sdc::runtime::Session session;
//   sdc_error error;
//   if (model.open("model.sdx", nullptr, &error) ||
//       session.create(model, nullptr, &error))
//     return report(error.message);
//   int32_t token;
//   if (session.prefill(0, prompt, count, &error) ||
//       session.sample(0, nullptr, 0, &token, &error))
//     return report(error.message);

#ifndef SDC_SDC_HPP
#define SDC_SDC_HPP

#include "sdc/sdc.h"

namespace sdc::runtime {

/// A struct of sdc.h that asks for the defaults: sized, and zero otherwise.
template <typename T> constexpr T make() {
  T value{};
  value.struct_size = sizeof(T);
  return value;
}

namespace detail {
/// Owns a handle that `End` ends. Moves, and does not copy.
template <typename T, void (*End)(T *)> class Handle {
public:
  Handle() = default;
  ~Handle() { End(handle); }
  Handle(const Handle &) = delete;
  Handle &operator=(const Handle &) = delete;
  Handle(Handle &&other) noexcept : handle(other.release()) {}
  Handle &operator=(Handle &&other) noexcept {
    reset(other.release());
    return *this;
  }

  T *get() const { return handle; }
  explicit operator bool() const { return handle != nullptr; }
  T *release() {
    T *released = handle;
    handle = nullptr;
    return released;
  }
  void reset(T *other = nullptr) {
    T *before = handle;
    handle = other;
    End(before);
  }

private:
  T *handle = nullptr;
};
} // namespace detail

class Model : public detail::Handle<sdc_model, sdc_model_close> {
public:
  SDC_NODISCARD sdc_status open(const char *path,
                                const sdc_open_options *options,
                                sdc_error *error) {
    sdc_model *opened = nullptr;
    sdc_status status = sdc_model_open(path, options, &opened, error);
    if (status == SDC_OK)
      reset(opened);
    return status;
  }
  SDC_NODISCARD sdc_status openMemory(const void *bytes, size_t size,
                                      const sdc_open_options *options,
                                      sdc_error *error) {
    sdc_model *opened = nullptr;
    sdc_status status =
        sdc_model_open_memory(bytes, size, options, &opened, error);
    if (status == SDC_OK)
      reset(opened);
    return status;
  }

  sdc_model_info info() const {
    auto info = make<sdc_model_info>();
    sdc_model_query(get(), &info);
    return info;
  }
};

class Session : public detail::Handle<sdc_session, sdc_session_destroy> {
public:
  SDC_NODISCARD sdc_status create(const Model &model,
                                  const sdc_session_options *options,
                                  sdc_error *error) {
    sdc_session *created = nullptr;
    sdc_status status =
        sdc_session_create(model.get(), options, &created, error);
    if (status == SDC_OK)
      reset(created);
    return status;
  }

  SDC_NODISCARD sdc_status prefill(uint32_t slot, const int32_t *tokens,
                                   size_t count, sdc_error *error) {
    return sdc_prefill(get(), slot, tokens, count, error);
  }
  SDC_NODISCARD sdc_status decode(const int32_t *tokens, sdc_error *error) {
    return sdc_decode(get(), tokens, error);
  }
  SDC_NODISCARD sdc_status sample(uint32_t slot, const sdc_sampling *sampling,
                                  uint32_t step, int32_t *token,
                                  sdc_error *error) {
    return sdc_slot_sample(get(), slot, sampling, step, token, error);
  }
  SDC_NODISCARD sdc_status generate(uint32_t slot, const int32_t *prompt,
                                    size_t count,
                                    const sdc_generate_options *options,
                                    sdc_generate_result *result,
                                    sdc_error *error) {
    return sdc_generate(get(), slot, prompt, count, options, result, error);
  }
  /// Writes with `onToken`, a callable that takes a token and says whether to
  /// go on; options.on_token is not called.
  template <typename OnToken>
  SDC_NODISCARD sdc_status generate(uint32_t slot, const int32_t *prompt,
                                    size_t count, sdc_generate_options options,
                                    OnToken &&onToken,
                                    sdc_generate_result *result,
                                    sdc_error *error) {
    options.on_token_user = &onToken;
    options.on_token = [](void *user, int32_t token) -> bool {
      return (*static_cast<decltype(&onToken)>(user))(token);
    };
    return sdc_generate(get(), slot, prompt, count, &options, result, error);
  }

  float *logits(uint32_t slot) { return sdc_slot_logits(get(), slot); }
  uint32_t length(uint32_t slot) const { return sdc_slot_length(get(), slot); }
  void cancel() { sdc_session_cancel(get()); }
};

} // namespace sdc::runtime

#endif // SDC_SDC_HPP
