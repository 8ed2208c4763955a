#include "retile/Tuner/Space.h"

#include "Verify.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace retile::tuner {

using manifest::Expression;
using manifest::Kernel;
using manifest::Parameter;
using manifest::Program;

static constexpr std::size_t maxParameters = 256, maxConstraints = 2048;
static constexpr std::uint64_t maxWork = 100'000'000;
static constexpr std::uint64_t maxCount = std::uint64_t(1) << 63;

Bindings deviceBindings(const Bindings& sizes, const DeviceInfo& device) {
  Bindings bindings = sizes;
  bindings["MAX_THREADS"] = device.maxThreadsPerBlock;
  bindings["MAX_SHARED"] = device.maxSharedPerBlock;
  bindings["SM_COUNT"] = device.smCount;
  return bindings;
}

std::string toString(const Bindings& bindings) {
  std::string text;
  for (const auto& [name, value] : bindings)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name, value);
  return text;
}

static std::uint64_t saturatingAdd(std::uint64_t a, std::uint64_t b) {
  return b >= maxCount - a ? maxCount : a + b;
}

namespace {

struct Rule {
  Program program;
  std::vector<std::size_t> variables; ///< ascending positions in manifest order
  std::string expr, why;
};

/// One step of the search: choose `variable`, then check `rules`. `live` are the chosen variables, this one
/// included, that rules of later steps name.
struct Level {
  std::size_t variable;
  std::vector<std::size_t> rules, live;
};

} // namespace

struct Space::Solver {
  std::vector<Parameter> parameters;
  Config identity;
  std::vector<Rule> rules;
  std::vector<Level> levels;
  std::vector<std::int64_t> constants; ///< sizes and limits: the slots behind the parameters
  std::uint64_t count = 0;
  /// Completions after level i, by the values of its live variables as a mixed-radix number.
  std::vector<std::unordered_map<std::uint64_t, std::uint64_t>> completions;
  std::uint64_t work = 0;
  bool exhausted = false;

  bool holds(std::size_t rule, const std::vector<std::int64_t>& slots) const {
    return rules[rule].program.run(slots.data()).value_or(0) != 0;
  }

  bool allHold(const std::vector<std::size_t>& list, const std::vector<std::int64_t>& slots) const {
    return std::all_of(list.begin(), list.end(), [&](std::size_t rule) { return holds(rule, slots); });
  }

  std::vector<std::int64_t> emptySlots() const {
    std::vector<std::int64_t> slots(parameters.size(), 0);
    slots.insert(slots.end(), constants.begin(), constants.end());
    return slots;
  }

  /// `choice` holds positions in the domains.
  std::uint64_t key(std::size_t level, const std::vector<std::size_t>& choice) const {
    std::uint64_t key = 0;
    for (std::size_t variable : levels[level].live)
      key = key * parameters[variable].values.size() + choice[variable];
    return key;
  }

  void solveAll() {
    std::vector<std::int64_t> slots = emptySlots();
    std::vector<std::size_t> choice(parameters.size(), 0);
    completions.resize(levels.size());
    for (std::size_t rule = 0; rule < rules.size(); ++rule)
      if (rules[rule].variables.empty() && !holds(rule, slots))
        return;
    count = solve(0, slots, choice);
  }

  std::uint64_t solve(std::size_t level, std::vector<std::int64_t>& slots, std::vector<std::size_t>& choice) {
    if (level == levels.size())
      return 1;
    std::size_t variable = levels[level].variable;
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < parameters[variable].values.size() && !exhausted; ++i) {
      slots[variable] = parameters[variable].values[i];
      choice[variable] = i;
      work += 1 + levels[level].rules.size();
      exhausted = work > maxWork;
      if (allHold(levels[level].rules, slots))
        total = saturatingAdd(total, completionsAfter(level, slots, choice));
    }
    return total;
  }

  std::uint64_t completionsAfter(std::size_t level, std::vector<std::int64_t>& slots,
                                 std::vector<std::size_t>& choice) {
    std::uint64_t at = key(level, choice);
    if (auto found = completions[level].find(at); found != completions[level].end())
      return found->second;
    std::uint64_t result = solve(level + 1, slots, choice);
    work += 16;
    completions[level].emplace(at, result);
    return result;
  }

  Config configAt(std::uint64_t index) const {
    std::vector<std::int64_t> slots = emptySlots();
    std::vector<std::size_t> choice(parameters.size(), 0);
    Config config;
    for (std::size_t level = 0; level < levels.size(); ++level) {
      const Parameter& parameter = parameters[levels[level].variable];
      for (std::size_t i = 0; i < parameter.values.size(); ++i) {
        slots[levels[level].variable] = parameter.values[i];
        choice[levels[level].variable] = i;
        if (!allHold(levels[level].rules, slots))
          continue;
        std::uint64_t below = completions[level].at(key(level, choice));
        if (index < below)
          break;
        index -= below;
      }
      config[parameter.name] = slots[levels[level].variable];
    }
    return config;
  }

  /// Slots of a configuration; empty when a parameter is missing or outside its domain.
  std::vector<std::int64_t> slotsOf(const Config& config) const {
    std::vector<std::int64_t> slots = emptySlots();
    if (config.size() != parameters.size())
      return {};
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      auto found = config.find(parameters[i].name);
      const auto& values = parameters[i].values;
      if (found == config.end() || std::find(values.begin(), values.end(), found->second) == values.end())
        return {};
      slots[i] = found->second;
    }
    return slots;
  }

  bool legal(const std::vector<std::int64_t>& slots) const {
    for (std::size_t rule = 0; rule < rules.size(); ++rule)
      if (!holds(rule, slots))
        return false;
    return true;
  }
};

/// The kernel's constraints, and those that every launch must meet.
static std::vector<manifest::Constraint> allConstraints(const Kernel& kernel) {
  std::vector<manifest::Constraint> list = kernel.constraints;
  const auto& [grid, block, shared] = kernel.launch;
  for (const auto& extent : grid)
    list.push_back({fmt::format("({}) >= 1", extent), "a grid has at least one block"});
  for (const auto& extent : block)
    list.push_back({fmt::format("({}) >= 1", extent), "a block has at least one thread"});
  list.push_back({fmt::format("({}) * ({}) * ({}) <= MAX_THREADS", block[0], block[1], block[2]),
                  "the device's threads a block"});
  list.push_back({fmt::format("({}) <= MAX_SHARED", shared), "the device's shared memory a block"});
  return list;
}

bool isLegal(const Kernel& kernel, const Bindings& sizes, const DeviceInfo& device, const Config& config) {
  Bindings bindings = deviceBindings(sizes, device);
  bindings.insert(config.begin(), config.end());
  for (const auto& constraint : allConstraints(kernel)) {
    auto expression = Expression::parse(constraint.expr);
    if (!expression)
      return false;
    auto value = expression->evaluate(bindings);
    if (!value || *value == 0)
      return false;
  }
  return true;
}

/// Chooses the variables of the rule with the fewest unchosen ones first, smallest domains first.
static std::vector<std::size_t> orderVariables(const std::vector<Rule>& rules,
                                               const std::vector<Parameter>& parameters) {
  std::vector<std::size_t> order;
  std::vector<bool> chosen(parameters.size(), false);
  auto missing = [&](const Rule& rule) {
    std::vector<std::size_t> list;
    std::copy_if(rule.variables.begin(), rule.variables.end(), std::back_inserter(list),
                 [&](auto v) { return !chosen[v]; });
    auto rank = [&](std::size_t v) { return std::pair(parameters[v].values.size(), v); };
    std::sort(list.begin(), list.end(), [&](auto a, auto b) { return rank(a) < rank(b); });
    return list;
  };
  auto choose = [&](std::size_t variable) {
    chosen[variable] = true;
    order.push_back(variable);
  };
  for (;;) {
    // Rules that continue what is chosen come before rules that open something new, to close frontiers early.
    std::vector<std::size_t> best;
    std::pair<bool, std::size_t> bestRank{true, SIZE_MAX};
    for (const Rule& rule : rules) {
      auto list = missing(rule);
      std::pair rank{list.size() == rule.variables.size(), list.size()};
      if (!list.empty() && rank < bestRank)
        best = list, bestRank = rank;
    }
    if (best.empty())
      break;
    std::for_each(best.begin(), best.end(), choose);
  }
  for (std::size_t variable = 0; variable < parameters.size(); ++variable)
    if (!chosen[variable])
      choose(variable);
  return order;
}

/// Attaches each rule to the level that chooses its last variable, and finds what stays live after each
/// level.
static std::vector<Level> makeLevels(const std::vector<Rule>& rules, const std::vector<std::size_t>& order) {
  std::vector<Level> levels;
  std::vector<std::size_t> position(order.size()), lastUse(order.size());
  for (std::size_t level = 0; level < order.size(); ++level) {
    levels.push_back({order[level], {}, {}});
    position[order[level]] = lastUse[order[level]] = level;
  }
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    std::size_t last = 0;
    for (std::size_t variable : rules[rule].variables)
      last = std::max(last, position[variable]);
    if (!rules[rule].variables.empty())
      levels[last].rules.push_back(rule);
    for (std::size_t variable : rules[rule].variables)
      lastUse[variable] = std::max(lastUse[variable], last);
  }
  for (std::size_t level = 0; level < order.size(); ++level)
    for (std::size_t earlier = 0; earlier <= level; ++earlier)
      if (lastUse[order[earlier]] > level)
        levels[level].live.push_back(order[earlier]);
  return levels;
}

static Error unsolvable(const Kernel& kernel, const std::string& why) {
  return {fmt::format("kernel '{}': {}", kernel.id, why),
          "fewer parameters or values make the space smaller"};
}

/// Whether the live variables' positions fit a mixed-radix number of 63 bits.
static bool keysFit(const Level& level, const std::vector<Parameter>& parameters) {
  std::uint64_t product = 1;
  for (std::size_t variable : level.live)
    if (__builtin_mul_overflow(product, parameters[variable].values.size(), &product) || product > maxCount)
      return false;
  return true;
}

/// Parses and compiles the constraints; `names` are the slots, parameters first.
static Expected<std::vector<Rule>> makeRules(const Kernel& kernel, const std::vector<std::string>& names) {
  std::vector<Rule> rules;
  for (const auto& [expr, why] : allConstraints(kernel)) {
    auto expression = Expression::parse(expr);
    if (!expression)
      return unsolvable(kernel, expression.error().message);
    auto program = expression->compile(names);
    if (!program)
      return unsolvable(kernel, fmt::format("constraint '{}': {}", expr, program.error().message));
    rules.push_back({*program, {}, expr, why});
    auto used = expression->names();
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
      if (used.count(names[i]))
        rules.back().variables.push_back(i);
  }
  return rules;
}

Expected<Space> Space::open(const Kernel& kernel, const Bindings& sizes, const DeviceInfo& device) {
  auto solver = std::make_shared<Solver>();
  solver->parameters = kernel.parameters;
  if (kernel.parameters.size() > maxParameters)
    return unsolvable(kernel, fmt::format("more than {} parameters", maxParameters));
  if (kernel.constraints.size() > maxConstraints)
    return unsolvable(kernel, fmt::format("more than {} constraints", maxConstraints));
  std::vector<std::string> names;
  for (Parameter& parameter : solver->parameters) {
    names.push_back(parameter.name);
    solver->identity[parameter.name] = parameter.original;
    if (std::find(parameter.values.begin(), parameter.values.end(), parameter.original) ==
        parameter.values.end())
      parameter.values.push_back(parameter.original);
  }
  for (const auto& [name, value] : deviceBindings(sizes, device)) {
    names.push_back(name);
    solver->constants.push_back(value);
  }
  auto rules = makeRules(kernel, names);
  if (!rules)
    return rules.error();
  solver->rules = *std::move(rules);
  solver->levels = makeLevels(solver->rules, orderVariables(solver->rules, solver->parameters));
  for (const Level& level : solver->levels)
    solver->exhausted |= !keysFit(level, solver->parameters);
  if (!solver->exhausted)
    solver->solveAll();
  if (solver->exhausted)
    return unsolvable(kernel, "constraints tie too many parameters together");
  Space space;
  space.solver = std::move(solver);
  return space;
}

std::uint64_t Space::count() const { return solver->count; }

Config Space::at(std::uint64_t index) const { return solver->configAt(index); }

Config Space::sample(std::mt19937_64& random) const {
  return at(std::uniform_int_distribution<std::uint64_t>(0, count() - 1)(random));
}

bool Space::contains(const Config& config) const {
  auto slots = solver->slotsOf(config);
  return !slots.empty() && solver->legal(slots);
}

std::vector<Config> Space::neighbours(const Config& config) const {
  std::vector<Config> list;
  auto slots = solver->slotsOf(config);
  for (std::size_t i = 0; i < solver->parameters.size() && !slots.empty(); ++i) {
    std::int64_t kept = slots[i];
    for (std::int64_t value : solver->parameters[i].values) {
      slots[i] = value;
      if (value == kept || !solver->legal(slots))
        continue;
      list.push_back(config);
      list.back()[solver->parameters[i].name] = value;
    }
    slots[i] = kept;
  }
  return list;
}

const Config& Space::identity() const { return solver->identity; }

std::string Space::explain(const Config& config) const {
  auto slots = solver->slotsOf(config);
  if (slots.empty() && !(config.empty() && solver->parameters.empty()))
    return fmt::format("'{}' is outside the parameters' domains", toString(config));
  for (std::size_t rule = 0; rule < solver->rules.size(); ++rule)
    if (!solver->holds(rule, slots))
      return fmt::format("{}{}{}", solver->rules[rule].expr, solver->rules[rule].why.empty() ? "" : ": ",
                         solver->rules[rule].why);
  return "";
}

const std::vector<Parameter>& Space::parameters() const { return solver->parameters; }

} // namespace retile::tuner
