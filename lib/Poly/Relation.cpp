#include "retile/Poly/Relation.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/val.h>

namespace retile::poly {

namespace {

/// One context a thread. The quota is per question; a question is answered in milliseconds or not at all.
isl_ctx* context() {
  struct Holder {
    isl_ctx* ctx = isl_ctx_alloc();
    Holder() { isl_options_set_on_error(ctx, ISL_ON_ERROR_CONTINUE); }
    ~Holder() { isl_ctx_free(ctx); }
  };
  static thread_local Holder holder;
  return holder.ctx;
}

struct Quota {
  Quota() {
    isl_ctx_reset_error(context());
    isl_ctx_reset_operations(context());
    isl_ctx_set_max_operations(context(), 20'000'000);
  }
  ~Quota() { isl_ctx_set_max_operations(context(), 0); }
};

std::optional<bool> answer(isl_bool value) {
  if (value == isl_bool_error) return std::nullopt;
  return value == isl_bool_true;
}

std::optional<std::int64_t> number(isl_val* value) {
  std::optional<std::int64_t> result;
  if (value && isl_val_is_int(value) == isl_bool_true && isl_val_cmp_si(value, INT64_MAX) <= 0 &&
      isl_val_cmp_si(value, INT64_MIN) >= 0)
    result = isl_val_get_num_si(value);
  isl_val_free(value);
  return result;
}

/// An isl parameter name back to a product of symbols.
Polynomial fromName(const std::string& name) {
  Polynomial product(1);
  size_t begin = 0;
  for (size_t at; (at = name.find("_x_", begin)) != std::string::npos; begin = at + 3)
    product = product * Polynomial::symbol(name.substr(begin, at - begin));
  return product * Polynomial::symbol(name.substr(begin));
}

/// isl_aff: sum of c*x / d and floors. nullopt on a rational result that is not integral term by term.
std::optional<Polynomial> fromAff(isl_aff* aff) {
  isl_aff* scaled = isl_aff_copy(aff);
  auto denominator = number(isl_aff_get_denominator_val(scaled));
  std::optional<Polynomial> result;
  if (denominator && *denominator == 1) {
    Polynomial sum;
    bool ok = true;
    if (auto constant = number(isl_aff_get_constant_val(scaled))) sum = sum + Polynomial(*constant);
    else ok = false;
    for (isl_dim_type type : {isl_dim_param, isl_dim_in, isl_dim_div}) {
      isl_size count = isl_aff_dim(scaled, type);
      for (int n = 0; ok && n < count; ++n) {
        auto coefficient = number(isl_aff_get_coefficient_val(scaled, type, n));
        if (!coefficient) ok = false;
        if (!ok || *coefficient == 0) continue;
        if (type == isl_dim_div) {
          isl_aff* inner = isl_aff_get_div(scaled, n);
          auto divisor = number(isl_aff_get_denominator_val(inner));
          isl_aff* numerator = divisor ? isl_aff_scale_val(inner, isl_val_int_from_si(context(), *divisor)) : inner;
          auto polynomial = divisor ? fromAff(numerator) : std::nullopt;
          isl_aff_free(numerator);
          if (!polynomial) ok = false;
          else sum = sum + Polynomial(*coefficient) * Polynomial::floorDiv(*polynomial, Polynomial(*divisor));
        } else {
          const char* name = isl_aff_get_dim_name(scaled, type, n);
          if (!name) ok = false;
          else sum = sum + Polynomial(*coefficient) * fromName(name);
        }
      }
    }
    if (ok) result = sum;
  }
  isl_aff_free(scaled);
  return result;
}

} // namespace

std::set<std::string> namesIn(const std::string& text) {
  std::set<std::string> names;
  std::string word;
  for (char c : text + " ") {
    if (isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
      continue;
    }
    if (!word.empty()) names.insert(word);
    word.clear();
  }
  return names;
}

struct Set::Impl {
  isl_set* set;
  ~Impl() { isl_set_free(set); }
};
struct Map::Impl {
  isl_map* map;
  ~Impl() { isl_map_free(map); }
};

template <class Handle, class Raw> static std::optional<Handle> wrap(Raw* raw, std::shared_ptr<const typename Handle::Impl>& slot, Handle& handle) {
  if (!raw) return std::nullopt;
  slot = std::shared_ptr<const typename Handle::Impl>(new typename Handle::Impl{raw});
  return handle;
}

#define RETILE_WRAP_SET(expression)                                                                                  \
  Quota quota;                                                                                                         \
  Set result;                                                                                                          \
  return wrap<Set, isl_set>(expression, result.impl, result)
#define RETILE_WRAP_MAP(expression)                                                                                  \
  Quota quota;                                                                                                         \
  Map result;                                                                                                          \
  return wrap<Map, isl_map>(expression, result.impl, result)

std::optional<Set> Set::parse(const std::string& text) { RETILE_WRAP_SET(isl_set_read_from_str(context(), text.c_str())); }
std::optional<Set> Set::intersect(const Set& other) const {
  RETILE_WRAP_SET(isl_set_intersect(isl_set_copy(impl->set), isl_set_copy(other.impl->set)));
}
std::optional<Set> Set::subtract(const Set& other) const {
  RETILE_WRAP_SET(isl_set_subtract(isl_set_copy(impl->set), isl_set_copy(other.impl->set)));
}
std::optional<Set> Set::unite(const Set& other) const {
  RETILE_WRAP_SET(isl_set_union(isl_set_copy(impl->set), isl_set_copy(other.impl->set)));
}
std::optional<Set> Set::gist(const Set& given) const {
  RETILE_WRAP_SET(isl_set_gist(isl_set_copy(impl->set), isl_set_copy(given.impl->set)));
}
std::optional<Set> Set::coalesce() const { RETILE_WRAP_SET(isl_set_coalesce(isl_set_copy(impl->set))); }
std::optional<Set> Set::projectOnto(unsigned first, unsigned count) const {
  isl_set* set = isl_set_copy(impl->set);
  isl_size total = isl_set_dim(set, isl_dim_set);
  set = isl_set_project_out(set, isl_dim_set, first + count, static_cast<unsigned>(total) - first - count);
  RETILE_WRAP_SET(isl_set_project_out(set, isl_dim_set, 0, first));
}
std::optional<bool> Set::isEmpty() const {
  Quota quota;
  return answer(isl_set_is_empty(impl->set));
}
std::optional<bool> Set::isSubsetOf(const Set& other) const {
  Quota quota;
  return answer(isl_set_is_subset(impl->set, other.impl->set));
}
std::string Set::text() const {
  char* raw = isl_set_to_str(impl->set);
  std::string result = raw ? raw : "";
  free(raw);
  return result;
}

static std::optional<std::vector<Polynomial>> pieces(isl_pw_aff* pieces) {
  if (!pieces) return std::nullopt;
  struct State {
    std::vector<Polynomial> values;
    bool ok = true;
  } state;
  pieces = isl_pw_aff_coalesce(pieces);
  isl_pw_aff_foreach_piece(
      pieces,
      [](isl_set* set, isl_aff* aff, void* user) {
        auto* state = static_cast<State*>(user);
        if (auto value = fromAff(aff)) state->values.push_back(*value);
        else state->ok = false;
        isl_set_free(set);
        isl_aff_free(aff);
        return isl_stat_ok;
      },
      &state);
  isl_pw_aff_free(pieces);
  if (!state.ok || state.values.empty()) return std::nullopt;
  return state.values;
}

std::optional<std::vector<Polynomial>> Set::maximum(unsigned dim) const {
  Quota quota;
  if (isl_set_dim_has_upper_bound(impl->set, isl_dim_set, dim) != isl_bool_true) return std::nullopt;
  return pieces(isl_set_dim_max(isl_set_copy(impl->set), static_cast<int>(dim)));
}
std::optional<std::vector<Polynomial>> Set::minimum(unsigned dim) const {
  Quota quota;
  if (isl_set_dim_has_lower_bound(impl->set, isl_dim_set, dim) != isl_bool_true) return std::nullopt;
  return pieces(isl_set_dim_min(isl_set_copy(impl->set), static_cast<int>(dim)));
}

std::optional<Disjunction> Set::constraints() const {
  Quota quota;
  struct State {
    Disjunction all;
    bool ok = true;
  } state;
  isl_set* set = isl_set_compute_divs(isl_set_coalesce(isl_set_copy(impl->set)));
  isl_set_foreach_basic_set(
      set,
      [](isl_basic_set* basic, void* user) {
        auto* state = static_cast<State*>(user);
        state->all.emplace_back();
        isl_basic_set_foreach_constraint(
            basic,
            [](isl_constraint* constraint, void* user) {
              auto* state = static_cast<State*>(user);
              isl_aff* aff = isl_constraint_get_aff(constraint);
              bool isDivBound = isl_constraint_is_div_constraint(constraint) == isl_bool_true;
              auto value = fromAff(aff);
              if (value && !isDivBound)
                state->all.back().push_back({*value, isl_constraint_is_equality(constraint) == isl_bool_true});
              else if (!isDivBound) state->ok = false;
              isl_aff_free(aff);
              isl_constraint_free(constraint);
              return isl_stat_ok;
            },
            user);
        isl_basic_set_free(basic);
        return isl_stat_ok;
      },
      &state);
  isl_set_free(set);
  if (!state.ok) return std::nullopt;
  return state.all;
}

std::optional<Map> Map::parse(const std::string& text) { RETILE_WRAP_MAP(isl_map_read_from_str(context(), text.c_str())); }
std::optional<Set> Map::range() const { RETILE_WRAP_SET(isl_map_range(isl_map_copy(impl->map))); }
std::optional<Set> Map::domain() const { RETILE_WRAP_SET(isl_map_domain(isl_map_copy(impl->map))); }
std::optional<Map> Map::intersectDomain(const Set& set) const {
  RETILE_WRAP_MAP(isl_map_intersect_domain(isl_map_copy(impl->map), isl_set_copy(set.impl->set)));
}
std::optional<Map> Map::conflictsWith(const Map& other) const {
  RETILE_WRAP_MAP(isl_map_apply_range(isl_map_copy(impl->map), isl_map_reverse(isl_map_copy(other.impl->map))));
}
std::optional<Map> Map::intersect(const Map& other) const {
  RETILE_WRAP_MAP(isl_map_intersect(isl_map_copy(impl->map), isl_map_copy(other.impl->map)));
}
std::optional<bool> Map::isEmpty() const {
  Quota quota;
  return answer(isl_map_is_empty(impl->map));
}
std::string Map::text() const {
  char* raw = isl_map_to_str(impl->map);
  std::string result = raw ? raw : "";
  free(raw);
  return result;
}

} // namespace retile::poly
