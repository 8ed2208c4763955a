#include "Types.h"

namespace retile::frontend {

using namespace clang;

static std::string spell(ASTContext& context, QualType type) {
  PrintingPolicy policy(context.getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.Bool = true;
  return type.getUnqualifiedType().getAsString(policy);
}

namespace {

/// The scalars that a record is made of, where it is a plain one of the user's: no bases, pointers or bit-fields.
struct Leaves {
  bool plain = true;
  std::uint64_t bits = 0;
  std::vector<QualType> types; ///< each once

  void add(ASTContext& context, QualType type) {
    type = type.getCanonicalType().getUnqualifiedType();
    if (const auto* array = context.getAsConstantArrayType(type)) {
      std::uint64_t before = bits;
      add(context, array->getElementType());
      bits = before + (bits - before) * array->getSize().getZExtValue();
      return;
    }
    const CXXRecordDecl* record = type->getAsCXXRecordDecl();
    // half and the like are scalars that the toolkit makes of records.
    bool isOwn = record && record->hasDefinition() && !context.getSourceManager().isInSystemHeader(record->getLocation());
    if (record && isOwn && !record->isUnion() && record->getNumBases() == 0 && !record->isPolymorphic()) {
      for (const FieldDecl* field : record->fields()) {
        if (field->isBitField()) plain = false;
        else add(context, field->getType());
      }
      return;
    }
    plain = plain && (type->isRealFloatingType() || (type->isIntegerType() && !type->isBooleanType()) || (record && !isOwn && !type->isIncompleteType()));
    if (!plain) return;
    bits += context.getTypeSize(type);
    if (!llvm::is_contained(types, type)) types.push_back(type);
  }
};

/// What test data for a record are made of: its scalars, where all are of one type, else bytes; null with padding.
std::shared_ptr<const model::Type> dataOf(ASTContext& context, QualType record) {
  const CXXRecordDecl* decl = record->getAsCXXRecordDecl();
  if (!decl || !decl->hasDefinition() || context.getSourceManager().isInSystemHeader(decl->getLocation())) return nullptr;
  Leaves leaves;
  leaves.add(context, record);
  if (!leaves.plain || leaves.bits != context.getTypeSize(record)) return nullptr;
  return std::make_shared<model::Type>(
      convertType(context, leaves.types.size() == 1 ? leaves.types.front() : QualType(context.UnsignedCharTy)));
}

} // namespace

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
    if (out.bits) out.element = dataOf(context, canonical);
  }
  return out;
}

model::Location location(const SourceManager& sources, SourceLocation at) {
  PresumedLoc place = sources.getPresumedLoc(sources.getFileLoc(at));
  if (place.isInvalid()) return {};
  return {place.getFilename(), static_cast<int>(place.getLine()), static_cast<int>(place.getColumn())};
}

} // namespace retile::frontend
