#include "Types.h"

namespace retile::frontend {

using namespace clang;

static std::string spell(ASTContext& context, QualType type) {
  PrintingPolicy policy(context.getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.Bool = true;
  return type.getUnqualifiedType().getAsString(policy);
}

model::Type convertType(ASTContext& context, QualType type) {
  model::Type out;
  type = type.getNonReferenceType();
  out.isRestrict = type.isRestrictQualified();
  out.name = spell(context, type);
  QualType canonical = type.getCanonicalType();
  out.canonical = spell(context, canonical);
  if (canonical->isVoidType()) {
    out.kind = model::Type::Void;
  } else if (canonical->isBooleanType()) {
    out.kind = model::Type::Bool;
    out.bits = 8;
  } else if (canonical->isIntegerType()) {
    out.kind = model::Type::Int;
    out.bits = static_cast<int>(context.getTypeSize(canonical));
    out.isSigned = canonical->isSignedIntegerOrEnumerationType();
  } else if (canonical->isRealFloatingType()) {
    out.kind = model::Type::Float;
    out.bits = static_cast<int>(context.getTypeSize(canonical));
  } else if (canonical->isPointerType() || canonical->isArrayType()) {
    out.kind = model::Type::Pointer;
    out.bits = 64;
    QualType pointee = canonical->isPointerType() ? type->getPointeeType()
                                                  : QualType(type->getPointeeOrArrayElementType(), 0);
    if (pointee.isNull()) pointee = canonical->getPointeeType();
    out.isConst = pointee.isConstQualified();
    out.isVolatile = pointee.isVolatileQualified();
    out.element = std::make_shared<model::Type>(convertType(context, pointee));
  } else if (canonical->isRecordType()) {
    out.kind = model::Type::Record;
    if (!canonical->isDependentType() && !canonical->isIncompleteType())
      out.bits = static_cast<int>(context.getTypeSize(canonical));
  }
  return out;
}

model::Location location(const SourceManager& sources, SourceLocation at) {
  PresumedLoc place = sources.getPresumedLoc(sources.getFileLoc(at));
  if (place.isInvalid()) return {};
  return {place.getFilename(), static_cast<int>(place.getLine()), static_cast<int>(place.getColumn())};
}

} // namespace retile::frontend
