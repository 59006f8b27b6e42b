//! The site of this repository: complete, and without a dead link.

use std::fs;

use jobcheck_prose::root;

#[test]
fn the_navigation_lists_every_page_of_docs() {
    assert_eq!(
        jobcheck_site::not_listed(&root()).unwrap(),
        Vec::<String>::new(),
        "add them to docs/SUMMARY.md"
    );
}

#[test]
fn every_link_of_the_site_leads_somewhere() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("site");
    let built = jobcheck_site::build(&root(), &out).unwrap();
    let checked = jobcheck_site::links::check(&out).unwrap();
    assert_eq!((built.problems, checked.problems), (Vec::<String>::new(), Vec::<String>::new()));
    assert!(built.pages > 100 && checked.links > 10_000, "{} pages, {} links", built.pages, checked.links);

    let front = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(front.contains("<title>jobcheck</title>") && front.contains("href=\"docs/guide/install.html\""));
    let index = fs::read_to_string(out.join("search-index.js")).unwrap();
    assert!(index.contains("\"heading\":\"FT-03\",\"anchor\":\"ft-03\""), "the search finds requirements");
    for page in ["docs/guide/view.html", "model/spec/src/pod.rs.html", "docs/guide/view/light.png"] {
        assert!(out.join(page).is_file(), "{page}");
    }
}

/// The anchors of the site are those of the repository, so that one link serves both.
#[test]
fn headings_have_the_same_anchors_in_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("site");
    jobcheck_site::build(&root(), &out).unwrap();
    for page in ["docs/reference/judging", "docs/reference/requirements/ft", "docs/guide/check", "CHANGELOG"]
    {
        let text = fs::read_to_string(root().join(format!("{page}.md"))).unwrap();
        let html = fs::read_to_string(out.join(format!("{page}.html"))).unwrap();
        for anchor in jobcheck_prose::links::anchors(&text) {
            assert!(html.contains(&format!(" id=\"{anchor}\"")), "{page}#{anchor}");
        }
    }
}
