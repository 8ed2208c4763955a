// Precedence climbing into a shared immutable tree. Depth and length are bounded, so that hostile text can
// neither exhaust the stack nor memory.
#include "ExpressionTree.h"
#include "retile/Support/Text.h"

#include <algorithm>
#include <fmt/format.h>

namespace retile::manifest {

static constexpr std::size_t maxLength = 1 << 16;

namespace {

struct Function {
  std::string_view name;
  Op op;
  std::size_t least, most;
};

constexpr Function functions[] = {
    {"min", Op::Min, 1, 64}, {"max", Op::Max, 1, 64}, {"ceildiv", Op::CeilDiv, 2, 2}, {"abs", Op::Abs, 1, 1},
    {"floordiv", Op::Div, 2, 2}, {"floormod", Op::Mod, 2, 2}};

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Expected<Tree> run() {
    if (text.size() > maxLength)
      return Error{
          fmt::format("an expression of {} characters; at most {} are allowed", text.size(), maxLength), ""};
    Tree tree = conditional(0);
    skipBlanks();
    if (message.empty() && at < text.size())
      fail(fmt::format("unexpected '{}'", text[at]));
    if (!message.empty())
      return Error{fmt::format("{} at column {} of '{}'", message, at + 1, oneLine(text, 80)), ""};
    return tree;
  }

private:
  Tree fail(std::string why) {
    if (message.empty())
      message = std::move(why);
    return nullptr;
  }

  void skipBlanks() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
      ++at;
  }

  bool eat(std::string_view token) {
    skipBlanks();
    if (text.substr(at, token.size()) != token)
      return false;
    at += token.size();
    return true;
  }

  Tree make(Op op, std::vector<Tree> operands) {
    Node node{op, 0, "", std::move(operands), 1};
    for (const Tree& operand : node.operands) {
      if (!operand)
        return nullptr;
      node.depth = std::max(node.depth, operand->depth + 1);
    }
    if (node.depth > maxDepth)
      return fail("nested too deeply");
    return std::make_shared<const Node>(std::move(node));
  }

  Tree conditional(int nesting) {
    if (nesting > maxDepth)
      return fail("nested too deeply");
    Tree condition = binary(1, nesting);
    if (!condition || !eat("?"))
      return condition;
    Tree then = conditional(nesting + 1);
    if (!then)
      return nullptr;
    if (!eat(":"))
      return fail("expected ':'");
    return make(Op::If, {condition, then, conditional(nesting + 1)});
  }

  const BinaryOperator* peekBinary() {
    skipBlanks();
    for (const BinaryOperator& candidate : binaryOperators)
      if (text.substr(at, candidate.spelling.size()) == candidate.spelling)
        return &candidate;
    return nullptr;
  }

  Tree binary(int precedence, int nesting) {
    Tree left = unary(nesting);
    while (left) {
      const BinaryOperator* found = peekBinary();
      if (!found || found->precedence < precedence)
        return left;
      at += found->spelling.size();
      left = make(found->op, {left, binary(found->precedence + 1, nesting)});
    }
    return nullptr;
  }

  Tree unary(int nesting) {
    if (nesting > maxDepth)
      return fail("nested too deeply");
    if (eat("-"))
      return make(Op::Negate, {unary(nesting + 1)});
    if (eat("+"))
      return unary(nesting + 1);
    skipBlanks();
    if (text.substr(at, 1) == "!" && text.substr(at, 2) != "!=") {
      ++at;
      return make(Op::Not, {unary(nesting + 1)});
    }
    return primary(nesting);
  }

  Tree primary(int nesting) {
    if (eat("(")) {
      Tree inner = conditional(nesting + 1);
      return !inner || eat(")") ? inner : fail("expected ')'");
    }
    std::size_t end = at;
    while (end < text.size() && isIdentifier(fmt::format("_{}", text[end])))
      ++end;
    std::string_view word = text.substr(at, end - at);
    if (word.empty())
      return fail(at < text.size() ? fmt::format("unexpected '{}'", text[at]) : "unexpected end");
    if (!isIdentifier(word))
      return literal(word);
    at = end;
    return eat("(") ? call(word, nesting) : name(word);
  }

  Tree literal(std::string_view word) {
    auto value = parseInteger(word);
    if (!value)
      return fail(fmt::format("'{}' is not a 64-bit decimal integer", oneLine(word, 40)));
    at += word.size();
    return std::make_shared<const Node>(Node{Op::Literal, *value, "", {}, 1});
  }

  static Tree name(std::string_view word) {
    return std::make_shared<const Node>(Node{Op::Name, 0, std::string(word), {}, 1});
  }

  Tree call(std::string_view word, int nesting) {
    auto found =
        std::find_if(std::begin(functions), std::end(functions), [&](auto& f) { return f.name == word; });
    if (found == std::end(functions))
      return fail(fmt::format("unknown function '{}'", oneLine(word, 40)));
    std::vector<Tree> arguments;
    do {
      arguments.push_back(conditional(nesting + 1));
      if (!arguments.back())
        return nullptr;
    } while (eat(","));
    if (!eat(")"))
      return fail("expected ')'");
    if (arguments.size() < found->least || arguments.size() > found->most)
      return fail(fmt::format("wrong number of arguments for '{}'", word));
    return make(found->op, std::move(arguments));
  }

  std::string_view text;
  std::size_t at = 0;
  std::string message;
};

} // namespace

Expected<Expression> Expression::parse(const std::string& text) {
  Expected<Tree> tree = Parser(text).run();
  if (!tree)
    return tree.error();
  Expression expression;
  expression.root = *tree;
  return expression;
}

} // namespace retile::manifest
