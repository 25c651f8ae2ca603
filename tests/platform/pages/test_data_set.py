"""The page of a data set, and how to cite a competition."""

from __future__ import annotations

from django.test import Client

from competitions.models import Competition, SampleSet
from pages.competition.citation import bibtex
from pages.competition.data_set_page_data import ClassRow, data_set


def test_the_page_shows_size_and_source_of_the_data_set(
    client: Client, competition: Competition, sample_sets: dict[str, SampleSet]
) -> None:
    found = data_set(competition)
    assert found is not None
    assert (found.shape, found.classes, found.development, found.validation) == ((64, 64, 3), 10, 10, 6)
    assert sum(row.samples for row in found.rows) == 10
    assert found.rows[0] == ClassRow(0, "0", 1)
    Competition.objects.update(data_source="From [UCI](https://uci.example).")
    page = client.get("/competitions/digits/data").content.decode()
    assert "64 x 64 x 3" in page
    assert 'From <a href="https://uci.example" rel="nofollow ugc">UCI</a>.' in page


def test_it_depends_on_nothing_secret_but_the_size_of_the_set_in_use(
    client: Client, competition: Competition, sample_sets: dict[str, SampleSet]
) -> None:
    before = client.get("/competitions/digits/data").content
    SampleSet.objects.filter(pk=sample_sets["validation"].pk).update(
        digest="0" * 64, class_names=["secret"], source="folder:/srv/secret", split="secret", skip=77, target_seed=78
    )
    hidden = SampleSet.objects.get(pk=sample_sets["validation"].pk)
    hidden.pk, hidden.name, hidden.purpose, hidden.count = None, "test", "test", 4321
    hidden.save()
    after = client.get("/competitions/digits/data").content
    assert after == before


def test_a_competition_without_rules_or_samples_has_the_page(client: Client, competition: Competition) -> None:
    assert "The rules are not published yet." in client.get("/competitions/digits/data").content.decode()


def test_a_citation_is_made_from_the_competition_or_the_organisers(client: Client, competition: Competition) -> None:
    Competition.objects.update(title=r"50 % of \digits {1}_2")
    page = client.get("/competitions/digits/citation").content.decode()
    assert "NeurIPS 2018" in page
    assert "{Adversarial Vision Challenge}" in page
    text = client.get("/competitions/digits/citation.bib").content.decode()
    assert r"title        = {{50 \% of \textbackslash{}digits \{1\}\_2}}," in text
    assert text.startswith("@misc{digits2025,\n")
    assert r"howpublished = {\url{http://testserver/competitions/digits}}," in text
    competition.citation = "@article{own,\r\n}\n"
    assert bibtex(competition, "http://testserver", "Gauntlet") == "@article{own,\n}"
