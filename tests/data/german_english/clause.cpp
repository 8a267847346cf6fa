// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
#include <weft/data/german_english/clause.hpp>

#include <catch2/catch.hpp>

namespace german_english_clause_tests {

using namespace weft::data::german_english;

namespace {

const Verb kaufen = dealings[0];
const Subject ich = subjects[0];
const Subject anna = subjects[3];
const Subject kinder = subjects[9];
const Phrase three_books = {"drei Bücher", "three books"};
const Phrase in_cologne = {"in Köln", "in Cologne"};
const Phrase to_cologne = {"nach Köln", "to Cologne"};
const Phrase on_monday = {"am Montag", "on Monday"};

const Clause all = {anna, kaufen, three_books, in_cologne, on_monday};

}  // namespace

TEST_CASE("German says when, where and what, English the other way round") {
  CHECK(statement(all) == Phrase{"Anna kauft am Montag in Köln drei Bücher .",
                                 "Anna buys three books in Cologne on Monday ."});
  CHECK(statement({ich, kommen, {}, {}, on_monday}) ==
        Phrase{"ich komme am Montag .", "I come on Monday ."});
}

TEST_CASE("the German verb stays second when the time is first") {
  CHECK(time_first(all) == Phrase{"am Montag kauft Anna in Köln drei Bücher .",
                                  "on Monday , Anna buys three books in Cologne ."});
}

TEST_CASE("a German question begins with the verb, an English one with do") {
  CHECK(question(all) == Phrase{"kauft Anna am Montag in Köln drei Bücher ?",
                                "does Anna buy three books in Cologne on Monday ?"});
  CHECK(question({kinder, kommen, {}, {}, on_monday}) ==
        Phrase{"kommen die Kinder am Montag ?", "do the children come on Monday ?"});
}

TEST_CASE("not stands after the time in German and before the verb in English") {
  CHECK(negation({anna, kommen, {}, to_cologne, on_monday}) ==
        Phrase{"Anna kommt am Montag nicht nach Köln .",
               "Anna does not come to Cologne on Monday ."});
}

TEST_CASE("the German perfect has its verb last and the auxiliary that the verb asks for") {
  CHECK(perfect(all) == Phrase{"Anna hat am Montag in Köln drei Bücher gekauft .",
                               "Anna bought three books in Cologne on Monday ."});
  CHECK(perfect({ich, kommen, {}, to_cologne, on_monday}) ==
        Phrase{"ich bin am Montag nach Köln gekommen .", "I came to Cologne on Monday ."});
}

TEST_CASE("a wish has the infinitive last in German") {
  CHECK(wish(all) == Phrase{"Anna will am Montag in Köln drei Bücher kaufen .",
                            "Anna wants to buy three books in Cologne on Monday ."});
  CHECK(wish({kinder, kommen, {}, {}, on_monday}) ==
        Phrase{"die Kinder wollen am Montag kommen .", "the children want to come on Monday ."});
}

TEST_CASE("a German clause after dass has its verb last") {
  CHECK(knowledge(all) == Phrase{"ich weiß , dass Anna am Montag in Köln drei Bücher kauft .",
                                 "I know that Anna buys three books in Cologne on Monday ."});
}

}  // namespace german_english_clause_tests
