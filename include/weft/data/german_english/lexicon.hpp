// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The people, things, places and verbs of the generated sentences.
#pragma once

#include <array>
#include <string_view>

namespace weft::data::german_english {

//! Who acts, as verbs see it: ich, er, wir.
enum class Person { first, third, plural };

//! Who acts.
struct Subject {
  std::string_view german;              //!< as in "Anna"
  std::string_view english;             //!< as in "Anna"
  std::string_view english_possessive;  //!< as in "Anna 's"
  Person person;                        //!< what its verbs agree with
};

//! Pronouns, names and relatives.
inline constexpr std::array<Subject, 10> subjects = {{
    {"ich", "I", "my", Person::first},
    {"er", "he", "his", Person::third},
    {"wir", "we", "our", Person::plural},
    {"Anna", "Anna", "Anna 's", Person::third},
    {"Paul", "Paul", "Paul 's", Person::third},
    {"Maria", "Maria", "Maria 's", Person::third},
    {"Thomas", "Thomas", "Thomas 's", Person::third},
    {"mein Bruder", "my brother", "my brother 's", Person::third},
    {"meine Schwester", "my sister", "my sister 's", Person::third},
    {"die Kinder", "the children", "the children 's", Person::plural},
}};

//! The forms that go with ich, er and wir, or with I, he and we.
struct Forms {
  std::string_view first;   //!< with ich or I
  std::string_view third;   //!< with er or he
  std::string_view plural;  //!< with wir or we

  //! The form for a person.
  [[nodiscard]] constexpr std::string_view operator()(Person person) const {
    return person == Person::first ? first : person == Person::third ? third : plural;
  }
};

//! To have, the auxiliary of most perfects.
inline constexpr Forms haben = {"habe", "hat", "haben"};
//! To be, the auxiliary of verbs of motion.
inline constexpr Forms sein = {"bin", "ist", "sind"};
//! To want.
inline constexpr Forms wollen = {"will", "will", "wollen"};
//! To pay.
inline constexpr Forms zahlen = {"zahle", "zahlt", "zahlen"};
//! To pay.
inline constexpr Forms pay = {"pay", "pays", "pay"};
//! To want.
inline constexpr Forms want = {"want", "wants", "want"};
//! What English asks and denies with.
inline constexpr Forms do_forms = {"do", "does", "do"};
//! The past of to be.
inline constexpr Forms was = {"was", "was", "were"};

//! A verb: its present, whose plural is the infinitive too, and what the past needs.
struct Verb {
  Forms german;                        //!< the present
  std::string_view german_participle;  //!< of the perfect, as "gekauft"
  Forms german_auxiliary;  //!< Of the perfect.
  Forms english;           //!< the present
  std::string_view english_past;  //!< the simple past
};

//! To come, the verb that a place goes with.
inline constexpr Verb kommen = {
    {"komme", "kommt", "kommen"}, "gekommen", sein, {"come", "comes", "come"}, "came"};

//! What one does somewhere.
inline constexpr std::array<Verb, 6> activities = {{
    {{"arbeite", "arbeitet", "arbeiten"}, "gearbeitet", haben, {"work", "works", "work"}, "worked"},
    {{"koche", "kocht", "kochen"}, "gekocht", haben, {"cook", "cooks", "cook"}, "cooked"},
    {{"singe", "singt", "singen"}, "gesungen", haben, {"sing", "sings", "sing"}, "sang"},
    {{"tanze", "tanzt", "tanzen"}, "getanzt", haben, {"dance", "dances", "dance"}, "danced"},
    {{"lerne", "lernt", "lernen"}, "gelernt", haben, {"study", "studies", "study"}, "studied"},
    {{"schlafe", "schläft", "schlafen"},
     "geschlafen",
     haben,
     {"sleep", "sleeps", "sleep"},
     "slept"},
}};

//! What one does with things.
inline constexpr std::array<Verb, 5> dealings = {{
    {{"kaufe", "kauft", "kaufen"}, "gekauft", haben, {"buy", "buys", "buy"}, "bought"},
    {{"verkaufe", "verkauft", "verkaufen"}, "verkauft", haben, {"sell", "sells", "sell"}, "sold"},
    {{"sehe", "sieht", "sehen"}, "gesehen", haben, {"see", "sees", "see"}, "saw"},
    {{"brauche", "braucht", "brauchen"}, "gebraucht", haben, {"need", "needs", "need"}, "needed"},
    {{"finde", "findet", "finden"}, "gefunden", haben, {"find", "finds", "find"}, "found"},
}};

//! A thing that one buys, sells, sees, needs or finds.
struct Noun {
  std::string_view german_the;         //!< nominative
  std::string_view german_the_object;  //!< accusative
  std::string_view german_a_object;    //!< accusative
  std::string_view german;             //!< the singular
  std::string_view german_plural;      //!< the plural
  std::string_view english_a;          //!< the article: a or an
  std::string_view english;            //!< the singular
  std::string_view english_plural;     //!< the plural
};

//! Of all three genders.
inline constexpr std::array<Noun, 8> nouns = {{
    {"der", "den", "einen", "Apfel", "Äpfel", "an", "apple", "apples"},
    {"das", "das", "ein", "Buch", "Bücher", "a", "book", "books"},
    {"die", "die", "eine", "Lampe", "Lampen", "a", "lamp", "lamps"},
    {"der", "den", "einen", "Stuhl", "Stühle", "a", "chair", "chairs"},
    {"die", "die", "eine", "Karte", "Karten", "a", "ticket", "tickets"},
    {"das", "das", "ein", "Ei", "Eier", "an", "egg", "eggs"},
    {"der", "den", "einen", "Brief", "Briefe", "a", "letter", "letters"},
    {"das", "das", "ein", "Haus", "Häuser", "a", "house", "houses"},
}};

//! A city, whose names differ in some.
struct City {
  std::string_view german;   //!< its German name
  std::string_view english;  //!< its English name
};

//! Where one lives, works and goes to.
inline constexpr std::array<City, 8> cities = {{
    {"Berlin", "Berlin"},
    {"Hamburg", "Hamburg"},
    {"München", "Munich"},
    {"Köln", "Cologne"},
    {"Wien", "Vienna"},
    {"Genf", "Geneva"},
    {"Nürnberg", "Nuremberg"},
    {"Braunschweig", "Brunswick"},
}};

}  // namespace weft::data::german_english
