"""Collects the pages of the site: every document at its own path, one page per Python module, one for all crates.

A hook of MkDocs (mkdocs.yml). Paths are those of the repository, so that links between documents hold; a link to
another file leads to the repository, and ``[key]`` to what the code cites of that work.
"""

from __future__ import annotations

import posixpath
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
REPOSITORY = "https://github.com/legato-rtc/legato/blob/main/"
KEYS = set(re.findall(r"^@\w+\{([^,\s]+),", (ROOT / "docs/references.bib").read_text(encoding="utf-8"), re.M))
CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]*`)", re.M | re.S)
CRATES = "crates.md"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fills the parts of the navigation that are as long as a folder."""
    parts = {
        "Papers": [{path.stem: f"docs/papers/{path.name}"} for path in sorted((ROOT / "docs/papers").glob("*.md"))],
        "Notebooks": [{p.stem: p.relative_to(ROOT).as_posix()} for p in sorted(ROOT.glob("studies/notebooks/**/*.md"))],
        "Policies": [
            {p.parent.name: p.relative_to(ROOT).as_posix()} for p in sorted(ROOT.glob("policies/*/README.md"))
        ],
        "Python": [*python_pages(), {"Crates (Rust)": CRATES}],
    }
    for entry in config.nav:
        for name in entry:
            entry[name] = parts.get(name, entry[name])
    return config


def modules() -> list[str]:
    """Public modules, and the native one, whose stub lists its content."""
    package = ROOT / "python"
    names = [p.relative_to(package).with_suffix("").as_posix().replace("/", ".") for p in package.rglob("*.py")]
    names = [name.removesuffix(".__init__") for name in names]
    return sorted({*(name for name in names if "._" not in name), "legato._core"})


def python_pages() -> list[dict[str, Any]]:
    """By package: its own page first, then its modules."""
    packages: dict[str, list[dict[str, str]]] = {}
    for name in modules():
        top = ".".join(name.split(".")[:2])
        packages.setdefault(top, []).append({name: f"api/{name}.md"})
    return [pages[0] if len(pages) == 1 else {top: pages} for top, pages in packages.items()]


def crates_page() -> str:
    """What each crate is for, by its manifest, with a link to what rustdoc makes of it."""
    rows = []
    for path in sorted(ROOT.glob("crates/*/Cargo.toml")):
        package = tomllib.loads(path.read_text(encoding="utf-8"))["package"]
        page = f"crates/{package['name'].replace('-', '_')}/index.html"
        rows.append(f'| <a href="{page}"><code>{package["name"]}</code></a> | {package.get("description", "")} |')
    return "# The crates' public face\n\n| crate | what it is for |\n|---|---|\n" + "\n".join(rows) + "\n"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    listed = subprocess.run(["git", "ls-files", "*.md", "docs/images"], cwd=ROOT, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if "upstream" not in name and (ROOT / name).exists():
            files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for name in modules():
        files.append(File.generated(config, f"api/{name}.md", content=f"::: {name}\n"))
    files.append(File.generated(config, CRATES, content=crates_page()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    folder = posixpath.dirname(page.file.src_uri)
    cited = KEYS & set(re.findall(r"^## (\S+)", (ROOT / "docs/references.md").read_text(encoding="utf-8"), re.M))
    references = posixpath.relpath("docs/references.md", folder or ".")

    def link(match: re.Match[str]) -> str:
        path, _, _ = match[1].partition("#")
        target = posixpath.normpath(posixpath.join(folder, path))
        if "://" in path or not path or files.get_file_from_path(target):
            return match[0]
        return f"]({REPOSITORY}{target})"

    def cite(match: re.Match[str]) -> str:
        return f"[{match[1]}]({references}#{match[1]})" if match[1] in cited else match[0]

    def prose(text: str) -> str:
        return re.sub(r"\[([a-z][a-z0-9-]+)\](?![(\[:])", cite, re.sub(r"\]\(([^)\s]+)\)", link, text))

    parts = CODE.split(markdown)
    return "".join(part if index % 2 else prose(part) for index, part in enumerate(parts))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Docstrings have a few marks of reStructuredText, which a page of Markdown shows as they are."""
    return re.sub(r"::</p>", ":</p>", re.sub(r":(?:class|data|func|meth|mod):\s*<code>~?", "<code>", html))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The theme asks another server for one script of a kilobyte; the site has it itself."""
    own = posixpath.relpath("iframe-worker.js", posixpath.dirname(page.file.dest_uri) or ".")
    return output.replace("https://unpkg.com/iframe-worker/shim", own)
