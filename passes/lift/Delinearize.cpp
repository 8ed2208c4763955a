// One affine subscript per recovered dimension: A[i*ld + j] becomes A[i][j].
//
// The strides of an array are the products of sizes that multiply a dimension anywhere (with the greatest common divisor of
// their factors); each must divide the one before. Terms without a dimension go to the stride that they are a multiple of.
// That 0 <= j < ld holds is proved from the guards, or recorded as an assumption on the sizes (n <= ld). Constant strides
// are split where everything is constant (A[5*dy + dx]) or where sizes bound a row of constant length (A[512*i + j], j < n). Source: Grosser et al., Optimistic Delinearization, ICS 2015.
#include "Lifter.h"

#include <algorithm>
#include <numeric>

namespace retile::lift {

namespace {

struct Term {
  Polynomial::Monomial sizes;   ///< product of sizes
  Polynomial dim;               ///< a dimension or an operation on dimensions; 1 for none
  bool hasDim = false;
  std::int64_t coefficient = 0;
};

bool isDivisor(const Polynomial::Monomial& small, const Polynomial::Monomial& large) {
  return std::includes(large.begin(), large.end(), small.begin(), small.end());
}

Polynomial product(const Polynomial::Monomial& monomial) {
  Polynomial result(1);
  for (const auto& name : monomial)
    result = result * Polynomial::symbol(name);
  return result;
}

/// Splits a flat subscript into terms; false where two dimensions are multiplied or a size hides in an operation.
bool split(const Polynomial& flat, const std::set<std::string>& dims, std::vector<Term>& terms) {
  for (const auto& [monomial, coefficient] : flat.monomials()) {
    Term term;
    term.coefficient = coefficient;
    term.dim = Polynomial(1);
    for (const auto& text : monomial) {
      auto atom = flat.atom(text);
      bool mentionsDim = atom->kind == poly::Atom::Symbol && dims.count(text);
      for (const auto& operand : atom->operands)
        for (const auto& name : operand.symbols())
          mentionsDim = mentionsDim || dims.count(name);
      if (!mentionsDim && atom->kind == poly::Atom::Symbol) {
        term.sizes.push_back(text);
        continue;
      }
      if (!mentionsDim || term.hasDim) return false;
      term.hasDim = true;
      term.dim = Polynomial::of(atom);
    }
    terms.push_back(std::move(term));
  }
  return true;
}

/// Elements of dimension k: how often its stride goes into the one before. Strides divide one another.
Polynomial rowLength(const transform::Array& array, size_t k) {
  if (array.strides[k].constant() == 1) return array.strides[k - 1];
  const auto &[outer, outerFactor] = *array.strides[k - 1].monomials().begin();
  const auto &[inner, innerFactor] = *array.strides[k].monomials().begin();
  Polynomial::Monomial quotient;
  std::set_difference(outer.begin(), outer.end(), inner.begin(), inner.end(), std::back_inserter(quotient));
  return product(quotient) * Polynomial(outerFactor / innerFactor);
}

} // namespace

void Lifter::delinearize() {
  std::set<std::string> dims = dimNames();
  std::map<std::string, std::vector<size_t>> byArray;
  for (size_t n = 0; n < out.accesses.size(); ++n)
    byArray[out.accesses[n].array].push_back(n);
  for (auto& [name, indices] : byArray) {
    std::map<Polynomial::Monomial, std::int64_t> gcds;
    std::vector<std::vector<Term>> terms(indices.size());
    bool ok = true;
    for (size_t n = 0; n < indices.size() && ok; ++n) {
      ok = split(out.accesses[indices[n]].flat, dims, terms[n]);
      for (const Term& term : terms[n])
        if (term.hasDim) gcds[term.sizes] = std::gcd(gcds[term.sizes], term.coefficient);
    }
    bool isRead = true, isData = false;
    for (size_t n : indices) {
      isRead = isRead && (!out.accesses[n].isWrite || out.accesses[n].isAtomic);
      isData = isData || !out.accesses[n].unknowns.empty();
    }
    if (!ok && isRead && isData) {
      // Anywhere in the array: one unknown offset.
      gcds.clear();
      for (size_t n = 0; n < indices.size(); ++n) {
        Access& access = out.accesses[indices[n]];
        terms[n].clear();
        bool isAffine = split(access.flat, dims, terms[n]) && std::all_of(terms[n].begin(), terms[n].end(), [](const Term& term) { return term.sizes.empty(); });
        if (!isAffine) {
          access.flat = Polynomial::symbol(addUnknown("", ""));
          access.unknowns.push_back(*access.flat.asSymbol());
          access.isMay = true;
          dims.insert(access.unknowns.back());
          terms[n].clear();
          split(access.flat, dims, terms[n]);
        }
        for (const Term& term : terms[n])
          if (term.hasDim) gcds[term.sizes] = std::gcd(gcds[term.sizes], term.coefficient);
      }
      ok = true;
    }
    if (!ok) {
      fail(out.accesses[indices[0]].location, "the subscripts of '" + name + "' are not affine: " + out.accesses[indices[0]].flat.toText());
      continue;
    }
    std::vector<std::pair<Polynomial::Monomial, std::int64_t>> strides(gcds.begin(), gcds.end());
    std::stable_sort(strides.begin(), strides.end(), [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    if (strides.empty() || !strides.back().first.empty()) strides.emplace_back(Polynomial::Monomial{}, 1);
    strides.back().second = 1;
    for (size_t k = 0; k + 1 < strides.size(); ++k)
      if (!isDivisor(strides[k + 1].first, strides[k].first) || strides[k].second % strides[k + 1].second != 0 ||
          strides[k].first.size() == strides[k + 1].first.size())
        ok = false;
    if (!ok) {
      fail(out.accesses[indices[0]].location, "the strides of '" + name + "' do not divide one another");
      continue;
    }
    transform::Array& array = out.arrays[name];
    array.name = name;
    array.variable = out.accesses[indices[0]].variable;
    array.element = out.accesses[indices[0]].element;
    const model::Variable& variable = out.kernel.variables[array.variable];
    if (variable.kind == model::Variable::Global) array.symbol = variable.sourceName;
    for (const auto& [monomial, factor] : strides)
      array.strides.push_back(product(monomial) * Polynomial(factor));
    for (size_t n = 0; n < indices.size(); ++n) {
      Access& access = out.accesses[indices[n]];
      (access.isWrite ? array.isWritten : array.isRead) = true;
      if (access.isAtomic) array.isRead = true;
      access.subscripts.assign(strides.size(), Polynomial());
      for (const Term& term : terms[n]) {
        std::int64_t rest = term.coefficient;
        Polynomial::Monomial sizes = term.sizes;
        for (size_t k = 0; k < strides.size() && rest != 0; ++k) {
          const auto& [monomial, factor] = strides[k];
          bool fits = k + 1 == strides.size() || (monomial == sizes && (!term.hasDim || rest % factor == 0));
          if (!fits) continue;
          if (k + 1 == strides.size()) {
            access.subscripts[k] = access.subscripts[k] + product(sizes) * term.dim * Polynomial(rest);
            rest = 0;
          } else {
            std::int64_t quotient = poly::floorDivide(rest, factor);
            access.subscripts[k] = access.subscripts[k] + term.dim * Polynomial(quotient);
            rest -= quotient * factor;
          }
        }
      }
    }
  }
  if (!failed) splitConstantStrides();
  if (!failed) proveSubscripts();
}

/// c_mask[5*dy + dx + 12] with constant dy and dx becomes c_mask[dy + 2][dx + 2].
void Lifter::splitConstantStrides() {
  for (auto& [name, array] : out.arrays) {
    if (array.strides.size() != 1) continue;
    std::set<std::int64_t> factors;
    bool constant = true;
    std::vector<Access*> uses;
    for (Access& access : out.accesses) {
      if (access.array != name) continue;
      uses.push_back(&access);
      for (const auto& [monomial, coefficient] : access.subscripts[0].monomials()) {
        if (monomial.empty()) continue;
        bool plain = monomial.size() == 1 && access.subscripts[0].atom(monomial[0])->kind == poly::Atom::Symbol && coefficient > 0;
        constant = constant && plain;
        factors.insert(coefficient);
      }
    }
    if (!constant || factors.size() < 2 || *factors.begin() != 1) continue;
    std::vector<std::int64_t> strides(factors.rbegin(), factors.rend());
    bool chain = true;
    for (size_t k = 0; k + 1 < strides.size(); ++k)
      chain = chain && strides[k] % strides[k + 1] == 0;
    if (!chain) continue;
    std::vector<std::vector<Polynomial>> splits;
    bool allConstant = true;
    for (Access* access : uses) {
      std::vector<Polynomial> parts(strides.size());
      for (const auto& [monomial, coefficient] : access->subscripts[0].monomials()) {
        if (monomial.empty()) continue;
        for (size_t k = 0; k < strides.size(); ++k)
          if (strides[k] == coefficient) parts[k] = parts[k] + Polynomial::symbol(monomial[0]);
      }
      // The constant term goes where it makes every inner subscript non-negative and below its stride.
      std::int64_t rest = access->subscripts[0].constantTerm();
      for (size_t k = strides.size() - 1; k > 0 && chain; --k) {
        std::int64_t extent = strides[k - 1] / strides[k];
        auto range = constantRange(parts[k]);
        std::int64_t unit = rest / strides[k];
        std::int64_t shift = ((unit % extent) + extent) % extent;
        if (range) {
          auto [low, high] = *range;
          if (high - low >= extent) chain = false;
          if (low + shift < 0 || high + shift >= extent) shift -= extent;
          if (low + shift < 0 || high + shift >= extent) chain = false;
        } else {
          // A row of constant length that sizes bound: the nearest neighbour is meant; proved or assumed below.
          allConstant = false;
          if (2 * shift >= extent) shift -= extent;
        }
        parts[k] = parts[k] + Polynomial(shift);
        rest -= shift * strides[k];
      }
      if (chain && rest % strides[0] == 0) parts[0] = parts[0] + Polynomial(rest / strides[0]);
      else chain = false;
      // Blocks of a constant length in rows of a symbolic one stay one dimension.
      if (allConstant && !constantRange(parts[0])) chain = false;
      if (!chain) break;
      splits.push_back(std::move(parts));
    }
    if (!chain) continue;
    array.strides.clear();
    for (std::int64_t stride : strides)
      array.strides.emplace_back(stride);
    for (size_t n = 0; n < uses.size(); ++n)
      uses[n]->subscripts = splits[n];
  }
}

/// Bounds of a sum of dimensions with constant bounds, whatever the conditions around the access.
std::optional<std::pair<std::int64_t, std::int64_t>> Lifter::constantRange(const Polynomial& subscript) const {
  std::int64_t low = subscript.constantTerm(), high = low;
  for (const auto& [monomial, coefficient] : subscript.monomials()) {
    if (monomial.empty()) continue;
    std::optional<std::int64_t> first, last;
    for (const Dim& loop : out.loops)
      if (loop.bounded && monomial.size() == 1 && loop.name == monomial[0]) {
        first = loop.from.constant();
        last = (loop.to - Polynomial(1)).constant();
      }
    for (const Dim& dim : out.parallel)
      if (monomial.size() == 1 && dim.name == monomial[0] && dim.lower.size() == 1 && dim.upper.size() == 1 && !dim.needsEnd) {
        first = dim.lower[0].constant();
        last = dim.upper[0].constant();
      }
    if (!first || !last) return std::nullopt;
    low += std::min(coefficient * *first, coefficient * *last);
    high += std::max(coefficient * *first, coefficient * *last);
  }
  return std::pair{low, high};
}

/// Whether the value is never negative where the access happens.
bool Lifter::provedAt(const Access& access, const Polynomial& value) {
  auto text = value.toIsl(dimNames());
  if (!text) return false;
  std::string domain = out.islDomain(access);
  auto broken = poly::Set::parse(domain.substr(0, domain.rfind('}')) + " and " + *text + " < 0 }");
  auto empty = broken ? broken->isEmpty() : std::nullopt;
  return empty && *empty;
}

std::optional<std::vector<Polynomial>> Lifter::subscriptBounds(const Access& access, const Polynomial& subscript, bool upper) {
  auto text = subscript.toIsl(dimNames());
  if (!text) return std::nullopt;
  auto map = poly::Map::parse(out.islAccess(access, "[" + *text + "]"));
  auto range = map ? map->range() : std::nullopt;
  if (!range) return std::nullopt;
  return upper ? range->maximum(0) : range->minimum(0);
}

void Lifter::proveSubscripts() {
  Evaluator evaluate = evaluator();
  for (const Access& access : out.accesses) {
    const transform::Array& array = out.arrays[access.array];
    for (size_t k = 1; k < access.subscripts.size(); ++k) {
      Polynomial extent = rowLength(array, k);
      if (provedAt(access, access.subscripts[k]) && provedAt(access, extent - Polynomial(1) - access.subscripts[k])) continue;
      auto low = subscriptBounds(access, access.subscripts[k], false), high = subscriptBounds(access, access.subscripts[k], true);
      bool proved = low && high;
      auto need = [&](const Polynomial& value) {
        if (out.neverNegative(value)) return;
        auto constant = value.constant();
        if (!value.toIsl({}) || (constant && *constant < 0) || !evaluate.isSizesOnly(value)) proved = false;
        else evaluate.assume(value, "a row of " + access.array + " is as long as its subscripts reach");
      };
      for (const Polynomial& value : low.value_or(std::vector<Polynomial>{}))
        need(value);
      for (const Polynomial& value : high.value_or(std::vector<Polynomial>{}))
        need(extent - Polynomial(1) - value);
      // Only test data and people rely on the rows of what is never written.
      // (Nor on those of what is only combined: that commutes wherever it goes.)
      bool isOrderFree = std::all_of(out.accesses.begin(), out.accesses.end(), [&](const Access& one) {
        return one.array != access.array || (one.isAtomic && one.combine == access.combine);
      });
      if (!proved && (!array.isWritten || (access.isAtomic && isOrderFree)) && !access.unknowns.empty()) continue;
      if (!proved) {
        fail(access.location, "cannot prove that subscript '" + access.subscripts[k].toText() + "' of '" + access.array +
                                  "' stays within a row of " + extent.toText());
        return;
      }
    }
    bool isData = !access.unknowns.empty();
    for (const auto& loop : access.loops)
      isData = isData || out.dim(loop)->dataBound;
    if (isData || provedAt(access, access.subscripts[0])) continue;
    auto low = subscriptBounds(access, access.subscripts[0], false);
    bool proved = low.has_value();
    for (const Polynomial& value : low.value_or(std::vector<Polynomial>{}))
      proved = proved && out.neverNegative(value);
    if (!proved) {
      fail(access.location, "cannot prove that '" + access.array + "' is read and written at non-negative offsets only");
      return;
    }
  }
}

} // namespace retile::lift
