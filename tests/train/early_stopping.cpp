// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/train/early_stopping.hpp>

#include <catch2/catch.hpp>
#include <limits>

namespace early_stopping_tests {

using namespace weft;
using train::Better;
using train::EarlyStopping;

TEST_CASE("a training stops after as many evaluations without improvement as it has patience") {
  EarlyStopping stopping({.patience = 3});
  for (const double loss : {5.0, 4.0, 4.5, 4.0, 3.9}) {
    stopping.update(loss);
    CHECK_FALSE(stopping.should_stop());  // the best comes as the third after 4.0
  }
  for (const double loss : {3.9, 4.0}) {
    CHECK_FALSE(stopping.update(loss));
    CHECK_FALSE(stopping.should_stop());
  }
  stopping.update(5.0);
  CHECK(stopping.should_stop());
}

TEST_CASE("update tells improvements, with either direction") {
  EarlyStopping loss({.better = Better::lower});
  CHECK(loss.update(2));
  CHECK_FALSE(loss.update(3));
  CHECK(loss.update(1));
  EarlyStopping bleu({.better = Better::higher});
  CHECK(bleu.update(20));
  CHECK_FALSE(bleu.update(19));
  CHECK(bleu.update(26.98));
}

TEST_CASE("a change that is not above the least one counts for nothing, however often it comes") {
  EarlyStopping stopping({.patience = 3, .least_change = 0.5});
  CHECK(stopping.update(10));
  CHECK_FALSE(stopping.update(9.75));
  CHECK_FALSE(stopping.update(9.5));  // measured from 10, the best, and not above 0.5
  CHECK(stopping.update(9.25));
  CHECK(stopping.state().best == 9.25);
}

TEST_CASE("NaN is no improvement, not even as the first value, and never the best") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EarlyStopping stopping({.patience = 2});
  CHECK_FALSE(stopping.update(nan));
  CHECK(stopping.update(7));
  CHECK_FALSE(stopping.update(nan));
  CHECK_FALSE(stopping.should_stop());
  CHECK_FALSE(stopping.update(nan));
  CHECK(stopping.should_stop());
  CHECK(stopping.state().best == 7);
}

TEST_CASE("an infinite loss may improve to a finite one") {
  EarlyStopping stopping({});
  CHECK(stopping.update(std::numeric_limits<double>::infinity()));
  CHECK_FALSE(stopping.update(std::numeric_limits<double>::infinity()));
  CHECK(stopping.update(1e300));
}

TEST_CASE("a training that is resumed from the state stops where the unbroken one does") {
  const train::EarlyStoppingOptions options = {.patience = 3, .better = Better::higher};
  const double values[] = {1, 3, 2, 2.5, 3, 2, 2};
  for (int broken_at = 0; broken_at < 7; ++broken_at) {
    EarlyStopping unbroken(options), first(options);
    for (int i = 0; i < broken_at; ++i) unbroken.update(values[i]), first.update(values[i]);
    EarlyStopping resumed(options, first.state());
    for (int i = broken_at; i < 7; ++i) {
      CHECK(resumed.update(values[i]) == unbroken.update(values[i]));
      CHECK(resumed.should_stop() == unbroken.should_stop());
    }
    CHECK(resumed.state() == unbroken.state());
  }
}

TEST_CASE("a patience below one and a senseless least change are errors") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_AS(EarlyStopping({.patience = 0}), ArgumentError);
  for (const double change : {-0.1, infinity, nan}) {
    CHECK_THROWS_AS(EarlyStopping({.least_change = change}), ArgumentError);
  }
}

}  // namespace early_stopping_tests
