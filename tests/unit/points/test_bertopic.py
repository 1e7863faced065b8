"""BERTopic with our estimator, and the lines of the page for what it leaves out."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mndmst

bertopic: Any = pytest.importorskip(
    "bertopic",
    reason="needs BERTopic: pip install --no-deps bertopic plotly safetensors",
)
hdbscan = pytest.importorskip("hdbscan", reason="needs hdbscan")
decomposition = pytest.importorskip("sklearn.decomposition", reason="needs sklearn")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

PAGE = Path(mndmst.__file__).parent / "docs/embeddings.md"
SUBJECTS = ("cat dog fur tail paw", "star moon orbit planet", "bread oven flour yeast")
EACH, STRAY = 60, 12


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], np.ndarray]:
    """Return documents of three subjects, then some of no subject, and embeddings."""
    drawn = np.random.default_rng(0)
    centres = 8 * drawn.normal(size=(len(SUBJECTS), 12))
    subject = np.arange(EACH * len(SUBJECTS)) % len(SUBJECTS)
    words = [SUBJECTS[n].split() for n in subject]
    words += [" ".join(SUBJECTS).split()] * STRAY
    near = centres[subject] + drawn.normal(size=(len(subject), 12))
    stray = 12 * drawn.normal(size=(STRAY, 12))
    return [" ".join(drawn.choice(w, 8)) for w in words], np.vstack([near, stray])


def fitted(kind: Any, texts: tuple[list[str], np.ndarray], **options: Any) -> Any:
    """Return a model of topics by a kind of HDBSCAN."""
    docs, embeddings = texts
    # Without ties of distances, so that hdbscan's clusters are those of HDBSCAN*
    clusters = kind(min_cluster_size=10, min_samples=1, prediction_data=True)
    model = bertopic.BERTopic(
        hdbscan_model=clusters,
        umap_model=decomposition.PCA(5, svd_solver="full"),
        embedding_model=None,
        **options,
    )
    model.fit(docs, embeddings)
    return model


def lines_of_the_page(model: Any, new: np.ndarray) -> dict[str, Any]:
    """Run the block of the page about memberships; return its names."""
    section = PAGE.read_text().partition("## Topics with BERTopic")[2]
    _, block, *_ = re.findall(r"```python\n(.*?)```", section, re.S)
    names = {"topic_model": model, "new_embeddings": new}
    exec(block, names)
    return names


def test_topics_are_those_with_hdbscan(texts: tuple[list[str], np.ndarray]) -> None:
    docs, embeddings = texts
    ours, theirs = (fitted(kind, texts) for kind in (mndmst.HDBSCAN, hdbscan.HDBSCAN))
    assert ours.topics_ == theirs.topics_
    assert -1 in ours.topics_
    np.testing.assert_allclose(ours.probabilities_, theirs.probabilities_)
    topics, probabilities = ours.transform(docs[:9], embeddings[:9])
    assert list(topics) == ours.topics_[:9]
    assert probabilities is None


def test_memberships_by_the_lines_of_the_page(
    texts: tuple[list[str], np.ndarray],
) -> None:
    docs, embeddings = texts
    ours = fitted(mndmst.HDBSCAN, texts, calculate_probabilities=True)
    assert ours.probabilities_.ndim == 1
    names = lines_of_the_page(ours, embeddings[:9])
    assert ours.probabilities_.shape == (len(docs), len(SUBJECTS))
    found, of_topic = np.array(ours.topics_), ours.probabilities_.argmax(1)
    assert (of_topic == found)[found >= 0].all()
    assert names["memberships"].shape == (9, len(SUBJECTS))
    assert names["memberships"].argmax(1).tolist() == ours.topics_[:9]
    assert names["labels"].tolist() == ours.hdbscan_model.labels_[:9].tolist()
    topics = ours.reduce_outliers(
        docs, ours.topics_, strategy="probabilities", probabilities=ours.probabilities_
    )
    assert np.array(topics)[found < 0].tolist() == of_topic[found < 0].tolist()
    ours.reduce_topics(docs, nr_topics=3)
    assert lines_of_the_page(ours, embeddings[:9])["memberships"].shape == (9, 2)


def test_models_are_saved_merged_and_reduced(
    texts: tuple[list[str], np.ndarray], tmp_path: Path
) -> None:
    docs, embeddings = texts
    model = fitted(mndmst.HDBSCAN, texts)
    model.save(tmp_path / "model", serialization="pickle")
    loaded = bertopic.BERTopic.load(str(tmp_path / "model"))
    topics, _ = loaded.transform(docs[:9], embeddings[:9])
    assert list(topics) == model.topics_[:9]
    assert len(model.hierarchical_topics(docs)) == len(SUBJECTS) - 1
    shares, _ = model.approximate_distribution(docs[:9])
    assert shares.argmax(1).tolist() == model.topics_[:9]
    assert -1 not in model.reduce_outliers(docs, model.topics_, strategy="c-tf-idf")
    pytest.importorskip("safetensors", reason="merge_models needs safetensors")
    half = docs[::2], embeddings[::2]
    merged = bertopic.BERTopic.merge_models([model, fitted(mndmst.HDBSCAN, half)])
    assert len(merged.get_topics()) >= len(SUBJECTS)
