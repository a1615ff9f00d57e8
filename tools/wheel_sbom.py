# SPDX-License-Identifier: Apache-2.0
"""The list of what a wheel carries, in CycloneDX 1.6 as JSON, for its .dist-info/sboms (PEP 770)."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from library_sources import GPL_ENCODERS, Source


@dataclasses.dataclass(frozen=True)
class SystemLibrary:
    """A library of the build machine that auditwheel copied into the wheel."""

    package: str
    """Debian's name of its package, without the architecture."""
    version: str
    """Debian's version."""
    file: str
    """Its name in the wheel."""


def sbom(version: str, sources: list[Source], encoders: list[str], added: list[SystemLibrary]) -> str:
    """The document.

    Args:
        version: of tricodec.
        sources: libraries that were compiled for the wheel.
        encoders: FFmpeg's encoders from other libraries; x264 and x265 make FFmpeg GPL.
        added: libraries of the build machine.
    """
    from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
    from cyclonedx.model.bom import Bom
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    is_gpl = bool(GPL_ENCODERS & set(encoders))
    bom = Bom()
    tricodec = Component(
        name="tricodec", version=version, type=ComponentType.LIBRARY, bom_ref="tricodec",
        licenses=[LicenseExpression("GPL-2.0-or-later" if is_gpl else "Apache-2.0 AND LGPL-2.1-or-later")],
        purl=PackageURL("pypi", None, "tricodec", version),
    )  # fmt: skip
    bom.metadata.component = tricodec
    parts = []
    for source in sources:
        expression = "GPL-2.0-or-later" if source.name == "ffmpeg" and is_gpl else source.spdx
        archive = ExternalReference(
            type=ExternalReferenceType.SOURCE_DISTRIBUTION, url=XsUri(source.addresses[0]),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=source.sha256)],
        )  # fmt: skip
        parts.append(
            Component(
                name=source.name, version=source.version, type=ComponentType.LIBRARY, bom_ref=source.name,
                licenses=[LicenseExpression(expression)], external_references=[archive],
                purl=PackageURL("generic", None, source.name, source.version),
            )
        )  # fmt: skip
    for library in added:
        terms = DisjunctiveLicense(name=f"see tricodec/licenses/{library.package}/copyright")
        parts.append(
            Component(
                name=library.package, version=library.version, type=ComponentType.LIBRARY,
                bom_ref=f"{library.package}:{library.file}", description=library.file, licenses=[terms],
                purl=PackageURL("deb", "debian", library.package, library.version),
            )
        )  # fmt: skip
    for part in parts:
        bom.components.add(part)
    bom.register_dependency(tricodec, parts)
    text: str = JsonV1Dot6(bom).output_as_string(indent=1)
    return text + "\n"


def problems(text: str) -> str:
    """What the schema of CycloneDX has against a document; empty if nothing."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    return "" if error is None else repr(error)


def write_sbom(dist_info: Path, text: str) -> Path:
    """Writes the document where PEP 770 has it.

    Raises:
        ValueError: the document is against the schema.
    """
    found = problems(text)
    if found:
        raise ValueError(f"the list of the wheel's parts is no valid CycloneDX: {found}")
    path = dist_info / "sboms/tricodec.cdx.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path
