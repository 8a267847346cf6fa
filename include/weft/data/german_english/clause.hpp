// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Puts the parts of a sentence into German and English order.
#pragma once

#include <weft/data/german_english/lexicon.hpp>
#include <weft/data/german_english/phrase.hpp>

#include <string>
#include <string_view>

namespace weft::data::german_english {

//! Who does what, where and when.
struct Clause {
  Subject subject;  //!< who
  Verb verb;        //!< does
  Phrase what;  //!< Like `where` and `when`, empty if nothing is said about it.
  Phrase where;  //!< in which place
  Phrase when;   //!< at what time
};

namespace detail {

//! German says when, where, what; English what, where, when.
inline std::string german_rest(const Clause& clause) {
  return join({clause.when.german, clause.where.german, clause.what.german});
}
inline std::string english_rest(const Clause& clause) {
  return join({clause.what.english, clause.where.english, clause.when.english});
}

}  // namespace detail

//! "Anna kauft am Montag drei Bücher .", "Anna buys three books on Monday ."
[[nodiscard]] inline Phrase statement(const Clause& clause) {
  const auto& [subject, verb, what, where, when] = clause;
  return {join({subject.german, verb.german(subject.person), detail::german_rest(clause), "."}),
          join({subject.english, verb.english(subject.person), detail::english_rest(clause), "."})};
}

//! "am Montag kauft Anna drei Bücher .", "on Monday , Anna buys three books .": the German verb
//! stays second. `when` must be said.
[[nodiscard]] inline Phrase time_first(const Clause& clause) {
  const auto& [subject, verb, what, where, when] = clause;
  return {join({when.german, verb.german(subject.person), subject.german, where.german, what.german,
                "."}),
          join({when.english, ",", subject.english, verb.english(subject.person), what.english,
                where.english, "."})};
}

//! "kauft Anna am Montag drei Bücher ?", "does Anna buy three books on Monday ?"
[[nodiscard]] inline Phrase question(const Clause& clause) {
  const auto& [subject, verb, what, where, when] = clause;
  return {join({verb.german(subject.person), subject.german, detail::german_rest(clause), "?"}),
          join({do_forms(subject.person), subject.english, verb.english.first,
                detail::english_rest(clause), "?"})};
}

//! "Anna kommt am Montag nicht nach Köln .", "Anna does not come to Cologne on Monday ." `what`
//! must not be said: that takes "kein".
[[nodiscard]] inline Phrase negation(const Clause& clause) {
  const auto& [subject, verb, what, where, when] = clause;
  return {
      join({subject.german, verb.german(subject.person), when.german, "nicht", where.german, "."}),
      join({subject.english, do_forms(subject.person), "not", verb.english.first, where.english,
            when.english, "."})};
}

//! "Anna hat am Montag drei Bücher gekauft .", "Anna bought three books on Monday ."
[[nodiscard]] inline Phrase perfect(const Clause& clause) {
  const auto& [subject, verb, what, where, when] = clause;
  return {join({subject.german, verb.german_auxiliary(subject.person), detail::german_rest(clause),
                verb.german_participle, "."}),
          join({subject.english, verb.english_past, detail::english_rest(clause), "."})};
}

//! "Anna will am Montag drei Bücher kaufen .", "Anna wants to buy three books on Monday ."
[[nodiscard]] inline Phrase wish(const Clause& clause) {
  const auto& [subject, verb, what, where, when] = clause;
  return {join({subject.german, wollen(subject.person), detail::german_rest(clause),
                verb.german.plural, "."}),
          join({subject.english, want(subject.person), "to", verb.english.first,
                detail::english_rest(clause), "."})};
}

//! "ich weiß , dass Anna am Montag drei Bücher kauft .", "I know that Anna buys three books on
//! Monday ."
[[nodiscard]] inline Phrase knowledge(const Clause& clause) {
  const auto& [subject, verb, what, where, when] = clause;
  return {join({"ich weiß , dass", subject.german, detail::german_rest(clause),
                verb.german(subject.person), "."}),
          join({"I know that", subject.english, verb.english(subject.person),
                detail::english_rest(clause), "."})};
}

}  // namespace weft::data::german_english
